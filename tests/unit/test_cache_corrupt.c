/* SPDX-License-Identifier: MIT */
/*
 * Corrupted files in the program cache, more than 100,000 of them, the same at every run: none reaches
 * the driver, and the program is built and works all the same. Calls of clCreateProgramWithBinary are
 * counted where the library makes them.
 */
#include "../support/test.h"

#include <fcntl.h>

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "driver/cache_file.h"
#include "driver/program.h"
#include "driver/program_disk.h"

#include "one_item.h"
#include "scratch.h"

enum { LEAST_FILES = 100000, MAX_TRIES = 100 };

/* Where the fields of a file's header are. */
enum { AT_CHECKSUM = 8, AT_FORMAT = 24, AT_KIND = 28, AT_SIZES = 32, HEADER = 48 };

static struct device *device;
static cl_context context;
static unsigned binaries_created, files;

static const char source[] = "#line 1 \"plus.cl\"\n"
                             "__kernel void plus(__global int *x) { x[0] += NUMBER; }\n";
static const struct program_spec spec = {"plus.cl", source, "-DNUMBER=2"};
static const struct program_spec other_spec = {"plus.cl", source, "-DNUMBER=3"};

cl_program __real_clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ids,
                                            const size_t *sizes, const unsigned char **binaries,
                                            cl_int *states, cl_int *code);
cl_program __wrap_clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ids,
                                            const size_t *sizes, const unsigned char **binaries,
                                            cl_int *states, cl_int *code);
cl_program __wrap_clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ids,
                                            const size_t *sizes, const unsigned char **binaries,
                                            cl_int *states, cl_int *code) {
    binaries_created++;
    return __real_clCreateProgramWithBinary(c, n, ids, sizes, binaries, states, code);
}

static uint32_t draw(uint32_t below) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (uint32_t)((state >> 20) % below) : 0;
}

/* --- the intact files --- */

/* A file's bytes, with room to grow. */
struct blob {
    unsigned char *bytes;
    size_t size;
};

static struct blob whole, other; /* this program's file; another's, of the same source */
static struct text key;
static char path[CACHE_PATH];

static struct blob blob_read(const char *from) {
    struct blob blob = {NULL, 0};
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    blob.size = (size_t)ftell(file);
    blob.bytes = malloc(blob.size);
    assert_non_null(blob.bytes);
    rewind(file);
    assert_int_equal(fread(blob.bytes, 1, blob.size, file), blob.size);
    fclose(file);
    return blob;
}

/* Runs a program on 40. */
static int result_of(cl_program program) { return one_item(device, context, program, "plus", 40); }

static void build(const struct program_spec *what, int result) {
    cl_program program;
    assert_int_equal(program_build(device, context, what, &program), CLS_SUCCESS);
    assert_int_equal(result_of(program), result);
    program_release(program);
}

static int setup(void **state) {
    cl_int code;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return 0; /* each test skips */
    context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    if (code != CL_SUCCESS || scratch_setup(state) ||
        !program_disk_key(device, &spec, source, &key))
        return -1;
    build(&other_spec, 43);
    if (scratch_count(".clsb", path, sizeof path) != 1)
        return -1;
    other = blob_read(path);
    build(&spec, 42);
    const struct cache_bytes bytes = {key.bytes, key.length};
    if (!cache_path(CACHE_PROGRAM, bytes, path) || access(path, R_OK))
        return -1;
    whole = blob_read(path);
    return 0;
}

static int teardown(void **state) {
    if (!context)
        return 0;
    clReleaseContext(context);
    free(key.bytes);
    free(whole.bytes);
    free(other.bytes);
    return scratch_teardown(state);
}

/* --- corruption: each makes a file of a copy of the intact one, which has room for as much again --- */

static void checksum_anew(struct blob *blob) {
    if (blob->size < HEADER)
        return;
    XXH128_hash_t hash = XXH3_128bits(blob->bytes + AT_FORMAT, blob->size - AT_FORMAT);
    memcpy(blob->bytes + AT_CHECKSUM, &hash.low64, 8);
    memcpy(blob->bytes + AT_CHECKSUM + 8, &hash.high64, 8);
}

/* Every bit of the header and of the key's start, then bits anywhere. */
static void flip_bits(struct blob *blob, unsigned i) {
    const size_t at = i < 512 * 8 ? i / 8 : draw((uint32_t)blob->size);
    blob->bytes[at] ^= (unsigned char)(1u << (i < 512 * 8 ? i % 8 : draw(8)));
    for (unsigned more = draw(3); more > 0; more--)
        blob->bytes[draw((uint32_t)blob->size)] ^= (unsigned char)(1u << draw(8));
}

static void truncate_it(struct blob *blob, unsigned i) {
    blob->size = i < 4096 && i < blob->size ? i : draw((uint32_t)blob->size);
}

static void extend(struct blob *blob, unsigned i) {
    const size_t more = 1 + (i < 256 ? i : draw((uint32_t)blob->size));
    for (size_t k = 0; k < more; k++)
        blob->bytes[blob->size + k] = i % 2 ? 0 : (unsigned char)draw(256);
    blob->size += more;
}

static void fill_range(struct blob *blob, unsigned i) {
    const size_t at = draw((uint32_t)blob->size), length = 1 + draw((uint32_t)(blob->size - at));
    for (size_t k = at; k < at + length; k++)
        blob->bytes[k] = i % 3 == 0 ? 0 : i % 3 == 1 ? 0xff : (unsigned char)draw(256);
}

/* A part of the other program's file, in the place of this one's or between its parts. */
static void splice(struct blob *blob, unsigned i) {
    const size_t least = blob->size < other.size ? blob->size : other.size;
    const size_t at = draw((uint32_t)least), length = 1 + draw((uint32_t)(least - at));
    if (i % 2) {
        memmove(blob->bytes + at + length, blob->bytes + at, blob->size - at);
        blob->size += length;
    }
    memcpy(blob->bytes + at, other.bytes + at, length);
}

static void exchange_blocks(struct blob *blob, unsigned i) {
    unsigned char block[4096];
    const size_t room = i % 2 ? 512 : sizeof block, half = blob->size / 2;
    const size_t length = 1 + draw((uint32_t)(half < room ? half : room) - 1);
    const size_t a = draw((uint32_t)(half - length + 1));
    const size_t b = half + draw((uint32_t)(blob->size - half - length + 1));
    memcpy(block, blob->bytes + a, length);
    memcpy(blob->bytes + a, blob->bytes + b, length);
    memcpy(blob->bytes + b, block, length);
}

static void wrong_checksum(struct blob *blob, unsigned i) {
    (void)i;
    for (unsigned k = 0; k < 16; k++)
        blob->bytes[AT_CHECKSUM + k] = (unsigned char)draw(256);
}

/* The file of another key, whole and under this one's name: a device, an option or a line of the source is
 * another. */
static void other_key(struct blob *blob, unsigned i) {
    if (i == 0) {
        memcpy(blob->bytes, other.bytes, other.size);
        blob->size = other.size;
        return;
    }
    blob->bytes[HEADER + draw((uint32_t)key.length)] ^= (unsigned char)(1 + draw(255));
    checksum_anew(blob);
}

/* Where the key ends and the payload begins is another; both sizes fit the file. */
static void moved_border(struct blob *blob, unsigned i) {
    const uint64_t sizes = blob->size - HEADER, first = draw((uint32_t)sizes),
                   second = sizes - first;
    (void)i;
    memcpy(blob->bytes + AT_SIZES, &first, 8);
    memcpy(blob->bytes + AT_SIZES + 8, &second, 8);
    checksum_anew(blob);
}

static void lying_sizes(struct blob *blob, unsigned i) {
    static const uint64_t lies[] = {0, 1, UINT64_MAX, UINT64_MAX - HEADER + 1, (uint64_t)1 << 63};
    const uint64_t lie = i % 2 ? lies[draw(5)] : (uint64_t)draw(UINT32_MAX) << draw(33);
    memcpy(blob->bytes + AT_SIZES + 8 * draw(2), &lie, 8);
    checksum_anew(blob);
}

static void other_format_or_kind(struct blob *blob, unsigned i) {
    const uint32_t value = i < 64 ? i : draw(UINT32_MAX);
    memcpy(blob->bytes + (i % 2 ? AT_FORMAT : AT_KIND), &value, 4);
    checksum_anew(blob);
}

/* Cut or extended, and the checksum made to hold for what is there. */
static void other_length(struct blob *blob, unsigned i) {
    if (i % 2)
        extend(blob, i);
    else
        blob->size = HEADER + draw((uint32_t)(blob->size - HEADER));
    checksum_anew(blob);
}

static const struct corruption {
    const char *name;
    unsigned files;
    void (*apply)(struct blob *blob, unsigned i);
} corruptions[] = {
    {"flipped bits", 30000, flip_bits},
    {"truncated", 16000, truncate_it},
    {"extended", 6000, extend},
    {"overwritten", 10000, fill_range},
    {"spliced with another program's", 12000, splice},
    {"blocks exchanged", 10000, exchange_blocks},
    {"a wrong checksum", 4000, wrong_checksum},
    {"a right checksum, another key", 8000, other_key},
    {"a right checksum, the border moved", 3000, moved_border},
    {"a right checksum, sizes that lie", 3000, lying_sizes},
    {"a right checksum, another format or kind", 2000, other_format_or_kind},
    {"a right checksum, another length", 4000, other_length},
};

enum { CORRUPTIONS = sizeof corruptions / sizeof *corruptions };

/* --- trying them --- */

static bool is_intact(const struct blob *blob) {
    return blob->size == whole.size && !memcmp(blob->bytes, whole.bytes, whole.size);
}

/* What happens to leave the file as it was is done again. */
static void corrupt(struct blob *blob, const struct corruption *how, unsigned i) {
    unsigned tries = 0;
    do {
        memcpy(blob->bytes, whole.bytes, whole.size);
        blob->size = whole.size;
        how->apply(blob, i + tries);
        assert_true(tries++ < MAX_TRIES);
    } while (is_intact(blob));
}

static void put(int file, const struct blob *blob) {
    assert_int_equal(ftruncate(file, (off_t)blob->size), 0);
    assert_int_equal(pwrite(file, blob->bytes, blob->size, 0), blob->size);
}

static int open_entry(void) {
    int file = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(file >= 0);
    return file;
}

static void load_intact(void) {
    const struct cache_bytes bytes = {key.bytes, key.length};
    cl_program program = program_disk_load(device, context, bytes, spec.options);
    assert_int_equal(binaries_created, 1);
    assert_non_null(program);
    assert_int_equal(result_of(program), 42);
    program_release(program);
}

static void no_file_reaches_the_driver(void **state) {
    const struct corruption *how = *state;
    const struct cache_bytes bytes = {key.bytes, key.length};
    if (!context) {
        print_message("no OpenCL device here\n");
        skip();
    }
    struct blob blob = {malloc(2 * (whole.size + other.size)), 0};
    assert_non_null(blob.bytes);
    int file = open_entry();
    binaries_created = 0;
    for (unsigned i = 0; i < how->files; i++, files++) {
        corrupt(&blob, how, i);
        put(file, &blob);
        if (program_disk_load(device, context, bytes, spec.options) || binaries_created)
            fail_msg("file %u of \"%s\" reached the driver", i, how->name);
    }
    close(file);
    free(blob.bytes);
    build(&spec, 42); /* with the last file in its place */
    assert_int_equal(binaries_created, 0);
    load_intact(); /* which was written anew */
}

/* The counting works: the intact file does reach the driver. */
static void an_intact_file_reaches_the_driver(void **state) {
    (void)state;
    if (!context) {
        print_message("no OpenCL device here\n");
        skip();
    }
    int file = open_entry();
    put(file, &whole);
    close(file);
    binaries_created = 0;
    load_intact();
    assert_true(files >= LEAST_FILES);
}

static void nor_does_one_that_others_may_write(void **state) {
    static const mode_t modes[] = {0620, 0602, 0666};
    const struct cache_bytes bytes = {key.bytes, key.length};
    struct stat facts;
    (void)state;
    if (!context) {
        print_message("no OpenCL device here\n");
        skip();
    }
    assert_int_equal(chmod(path, 0600) | stat(path, &facts), 0);
    if (facts.st_mode & 0077) {
        print_message("files of this system have no modes\n");
        skip();
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        binaries_created = 0;
        assert_null(program_disk_load(device, context, bytes, spec.options));
        assert_int_equal(binaries_created, 0);
    }
    assert_int_equal(chmod(path, 0600), 0);
    load_intact();
}

int main(void) {
    static struct CMUnitTest tests[CORRUPTIONS + 2];
    static struct corruption rows[CORRUPTIONS];
    memcpy(rows, corruptions, sizeof rows);
    for (unsigned i = 0; i < CORRUPTIONS; i++)
        tests[i] =
            (struct CMUnitTest){rows[i].name, no_file_reaches_the_driver, NULL, NULL, &rows[i]};
    tests[CORRUPTIONS] = (struct CMUnitTest)cmocka_unit_test(an_intact_file_reaches_the_driver);
    tests[CORRUPTIONS + 1] =
        (struct CMUnitTest)cmocka_unit_test(nor_does_one_that_others_may_write);
    return cmocka_run_group_tests_name("corrupted cache files", tests, setup, teardown);
}
