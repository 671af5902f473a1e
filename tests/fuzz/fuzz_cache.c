/* SPDX-License-Identifier: MIT */
/*
 * Files of the disk cache. The first byte says how far a forger gets: 0 writes the rest as the file of a
 * program, 1 with the checksum made to hold, 2 as the payload of an intact file; odd bits of it above
 * choose the capability record instead. What is loaded must be what the library itself would store.
 */
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "driver/cache_file.h"
#include "driver/caps.h"
#include "driver/device_state.h"
#include "driver/probe.h"
#include "fuzz.h"

enum { AT_CHECKSUM = 8, AT_FORMAT = 24 };

/* As caps.c makes it of the identity below. */
static const char caps_key[] = "a device\nlibrary unversioned\ncapabilities 6\n";
static const char program_key[] = "key";

static unsigned probes;

bool probe_device(struct device *device, struct caps *caps) {
    (void)device;
    probes++;
    memset(caps, 0, sizeof *caps);
    return false; /* nothing is stored */
}

static char folder[] = "/tmp/clstream-fuzz-XXXXXX";

static void remove_folder(void) { rmdir(folder); }

static void make_folder(void) {
    static bool made;
    if (made)
        return;
    REQUIRE(mkdtemp(folder) && setenv("CLSTREAM_CACHE_DIR", folder, 1) == 0);
    unsetenv("CLSTREAM_CACHE");
    atexit(remove_folder);
    made = true;
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file);
    REQUIRE(fwrite(bytes, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
}

static void checksum_anew(unsigned char *bytes, size_t size) {
    if (size < AT_FORMAT)
        return;
    XXH128_hash_t hash = XXH3_128bits(bytes + AT_FORMAT, size - AT_FORMAT);
    memcpy(bytes + AT_CHECKSUM, &hash.low64, 8);
    memcpy(bytes + AT_CHECKSUM + 8, &hash.high64, 8);
}

static void check_load(enum cache_kind kind, struct cache_bytes key, const void *bytes,
                       size_t size) {
    struct cache_bytes payload = {NULL, 0};
    void *owned = NULL;
    size_t packed_size = 0;
    if (!cache_load(kind, key, &payload, &owned))
        return;
    void *packed = cache_blob_pack(kind, key, payload, &packed_size);
    REQUIRE(packed && packed_size == size && !memcmp(packed, bytes, size));
    free(packed);
    free(owned);
}

/* A record is read, or else probed; either way there is one, and its figures can be listed. */
static void check_caps(void) {
    char identity[] = "a device\n";
    struct device_state state = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct device device = {.identity = identity, .state = &state};
    const struct caps *caps;
    REQUIRE(device_caps(&device, &caps) == CLS_SUCCESS);
    for (size_t i = 0; i < caps_figures; i++)
        REQUIRE(caps_figure(caps, i).name);
}

static void check_file(unsigned how, bool is_caps, const uint8_t *data, size_t size) {
    const enum cache_kind kind = is_caps ? CACHE_CAPS : CACHE_PROGRAM;
    const struct cache_bytes key = {is_caps ? caps_key : program_key,
                                    is_caps ? sizeof caps_key - 1 : sizeof program_key};
    char path[CACHE_PATH];
    unsigned char *bytes = malloc(size + 1);
    REQUIRE(bytes && cache_path(kind, key, path));
    memcpy(bytes, data, size);
    if (how == 2) {
        free(bytes);
        bytes = cache_blob_pack(kind, key, (struct cache_bytes){data, size}, &size);
        REQUIRE(bytes);
    } else if (how == 1)
        checksum_anew(bytes, size);
    write_file(path, bytes, size);
    check_load(kind, key, bytes, size);
    if (is_caps)
        check_caps();
    unlink(path);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    make_folder();
    if (size > 0)
        check_file(data[0] % 4 % 3, data[0] & 4, data + 1, size - 1);
    return 0;
}
