/* SPDX-License-Identifier: MIT */
#include "driver/device_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/text.h"
#include "driver/device_state.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/status.h"

enum { MAX_DIMENSIONS = 16 };

/* The driver's answers before any check; zero where a query fails. */
struct answers {
    cl_device_type type;
    cl_bool available;
    cl_bool compiler;
    cl_bool unified;
    cl_uint units;
    cl_uint align_bits;
    cl_uint address_bits;
    cl_device_fp_config fp64;
    cl_command_queue_properties queue;
    cl_ulong global_memory;
    cl_ulong max_allocation;
    cl_ulong local_memory;
    size_t max_group;
    cl_uint vector_floats;
    cl_bool non_uniform;
    cl_device_svm_capabilities sharing;
    char platform_version[128];
    char name[128];
    char vendor[128];
    char platform[128];
    char version[128];
    char driver_version[128];
};

#define NUMBER(param, member) \
    { param, offsetof(struct answers, member), sizeof(((struct answers *)0)->member) }

static const struct {
    cl_device_info param;
    size_t offset;
    size_t size;
} numbers[] = {
    NUMBER(CL_DEVICE_TYPE, type),
    NUMBER(CL_DEVICE_AVAILABLE, available),
    NUMBER(CL_DEVICE_COMPILER_AVAILABLE, compiler),
    NUMBER(CL_DEVICE_HOST_UNIFIED_MEMORY, unified),
    NUMBER(CL_DEVICE_MAX_COMPUTE_UNITS, units),
    NUMBER(CL_DEVICE_MEM_BASE_ADDR_ALIGN, align_bits),
    NUMBER(CL_DEVICE_ADDRESS_BITS, address_bits),
    NUMBER(CL_DEVICE_DOUBLE_FP_CONFIG, fp64),
    NUMBER(CL_DEVICE_QUEUE_PROPERTIES, queue),
    NUMBER(CL_DEVICE_GLOBAL_MEM_SIZE, global_memory),
    NUMBER(CL_DEVICE_MAX_MEM_ALLOC_SIZE, max_allocation),
    NUMBER(CL_DEVICE_LOCAL_MEM_SIZE, local_memory),
    NUMBER(CL_DEVICE_MAX_WORK_GROUP_SIZE, max_group),
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, vector_floats),
    NUMBER(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, non_uniform),
    NUMBER(CL_DEVICE_SVM_CAPABILITIES, sharing),
};

static cl_int ask_device(const void *id, cl_uint param, size_t size, void *to, size_t *used) {
    return clGetDeviceInfo((cl_device_id)id, param, size, to, used);
}

static cl_int ask_platform(const void *id, cl_uint param, size_t size, void *to, size_t *used) {
    return clGetPlatformInfo((cl_platform_id)id, param, size, to, used);
}

typedef cl_int (*ask_fn)(const void *id, cl_uint param, size_t size, void *to, size_t *used);

/* Removes blanks at both ends: some drivers pad their names. */
static void copy_trimmed(char *to, size_t room, const char *text) {
    while (*text == ' ')
        text++;
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length >= room)
        length = room - 1;
    memcpy(to, text, length);
    to[length] = '\0';
}

/* A name longer than any driver's counts as a failed query. */
static bool ask_name(ask_fn ask, const void *id, cl_uint param, char *to, size_t room) {
    char text[4096];
    size_t used = 0;
    if (ask(id, param, sizeof text - 1, text, &used) != CL_SUCCESS || used >= sizeof text)
        return false;
    text[used] = '\0';
    copy_trimmed(to, room, text);
    return true;
}

/* Without an answer from the driver there is no limit. */
static void ask_max_local(cl_device_id id, size_t out[3]) {
    size_t sizes[MAX_DIMENSIONS] = {0}, used = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, &used) !=
        CL_SUCCESS)
        used = 0;
    for (unsigned i = 0; i < 3; i++)
        out[i] = (i + 1) * sizeof *sizes <= used && sizes[i] ? sizes[i] : SIZE_MAX;
}

static bool ask_all(cl_platform_id platform, cl_device_id id, struct answers *a) {
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        void *to = (char *)a + numbers[i].offset;
        if (clGetDeviceInfo(id, numbers[i].param, numbers[i].size, to, NULL) != CL_SUCCESS)
            memset(to, 0, numbers[i].size);
    }
    return ask_name(ask_platform, platform, CL_PLATFORM_NAME, a->platform, sizeof a->platform) &&
           ask_name(ask_platform, platform, CL_PLATFORM_VERSION, a->platform_version,
                    sizeof a->platform_version) &&
           ask_name(ask_device, id, CL_DEVICE_NAME, a->name, sizeof a->name) &&
           ask_name(ask_device, id, CL_DEVICE_VENDOR, a->vendor, sizeof a->vendor) &&
           ask_name(ask_device, id, CL_DEVICE_VERSION, a->version, sizeof a->version) &&
           ask_name(ask_device, id, CL_DRIVER_VERSION, a->driver_version, sizeof a->driver_version);
}

/* "OpenCL 3.0 ..." is 300; 0 for anything else. */
static unsigned parse_version(const char *text) {
    unsigned major, minor;
    if (sscanf(text, "OpenCL %u.%u", &major, &minor) != 2 || major > 99 || minor > 9)
        return 0;
    return 100 * major + 10 * minor;
}

static unsigned lower_version(const struct answers *a) {
    unsigned device = parse_version(a->version);
    unsigned platform = parse_version(a->platform_version);
    return device < platform ? device : platform;
}

static const char *why_unusable(const struct answers *a) {
    if (lower_version(a) < 120)
        return "older than OpenCL 1.2";
    if (!a->available)
        return "not available";
    if (!a->compiler)
        return "without a compiler";
    return NULL;
}

static cls_device_type type_of(cl_device_type type) {
    if (type & CL_DEVICE_TYPE_GPU)
        return CLS_DEVICE_GPU;
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return CLS_DEVICE_ACCELERATOR;
    return type & CL_DEVICE_TYPE_CPU ? CLS_DEVICE_CPU : CLS_DEVICE_OTHER;
}

static void fill_info(cls_device_info *info, const struct answers *a) {
    info->size = sizeof *info;
    info->type = type_of(a->type);
    memcpy(info->name, a->name, sizeof info->name);
    memcpy(info->vendor, a->vendor, sizeof info->vendor);
    memcpy(info->platform, a->platform, sizeof info->platform);
    memcpy(info->version, a->version, sizeof info->version);
    memcpy(info->driver_version, a->driver_version, sizeof info->driver_version);
    info->global_memory = a->global_memory;
    info->max_allocation = a->max_allocation;
    info->local_memory = a->local_memory;
    info->compute_units = a->units;
    info->max_work_group = a->max_group > UINT32_MAX ? UINT32_MAX : (uint32_t)a->max_group;
    info->base_align = a->align_bits / 8 ? a->align_bits / 8 : 1;
    info->has_fp64 = a->fp64 != 0;
    info->unified_memory = a->unified != CL_FALSE;
}

/* Without an answer from the driver there are no extensions; only lack of memory is a failure. */
static cls_status ask_extension(cl_device_id id, const char *name, bool *has) {
    size_t size = 0;
    *has = false;
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS)
        return CLS_SUCCESS;
    char *list = calloc(1, size + 1);
    if (!list)
        return error_no_memory("for a device entry");
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, list, NULL) == CL_SUCCESS)
        *has = strstr(list, name) != NULL;
    free(list);
    return CLS_SUCCESS;
}

/* Drivers that do not know the query (cl_khr_device_uuid) refuse it. */
static bool ask_uuid(cl_device_id id, unsigned char out[16]) {
    size_t used = 0;
    const cl_int code = clGetDeviceInfo(id, CL_DEVICE_UUID_KHR, 16, out, &used);
    return code == CL_SUCCESS && used == 16;
}

/* Devices of others than NVIDIA refuse the query (cl_nv_device_attribute_query). */
static unsigned ask_compute_capability(cl_device_id id) {
    cl_uint major = 0, minor = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, NULL) ||
        clGetDeviceInfo(id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor, NULL))
        return 0;
    return 10 * major + minor;
}

/* The lines of /proc/cpuinfo that tell one instruction set from another: a binary made for this CPU
 * must not be loaded on another one that shares the home directory. */
static void append_instruction_set(struct text *text) {
    static const char *const wanted[] = {"model name", "flags", "Features", "isa"};
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[8192];
    while (file && fgets(line, sizeof line, file) && line[0] != '\n')
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (!strncmp(line, wanted[i], strlen(wanted[i])))
                text_append(text, line, strlen(line));
    if (file)
        fclose(file);
}

static cls_status name_identity(struct device *device) {
    const cls_device_info *info = &device->info;
    struct text text = {0};
    text_printf(&text, "%s\n%s\n%s\n%s\n%s\n%s\n%u units, type %d\n", info->platform,
                device->platform_version, info->name, info->vendor, info->version,
                info->driver_version, (unsigned)info->compute_units, (int)info->type);
    if (info->type == CLS_DEVICE_CPU)
        append_instruction_set(&text);
    if (text.failed) {
        free(text.bytes);
        return error_no_memory("for a device entry");
    }
    device->identity = text.bytes;
    device->key = XXH3_64bits(text.bytes, text.length);
    return CLS_SUCCESS;
}

static struct device_state *new_state(void) {
    struct device_state *state = calloc(1, sizeof *state);
    if (state && pthread_mutex_init(&state->lock, NULL) != 0) {
        free(state);
        state = NULL;
    }
    return state;
}

void device_free(struct device *device) {
    if (!device)
        return;
    if (device->state)
        pthread_mutex_destroy(&device->state->lock);
    free(device->state);
    free(device->identity);
    free(device);
}

cls_status device_query(cl_platform_id platform, cl_device_id id, struct device **out,
                        const char **reason) {
    struct answers a;
    *reason = ask_all(platform, id, &a) ? why_unusable(&a) : "its queries fail";
    if (*reason)
        return CLS_SUCCESS;
    struct device *device = calloc(1, sizeof *device);
    if (!device || !(device->state = new_state())) {
        device_free(device);
        return error_no_memory("for a device entry");
    }
    device->platform = platform;
    device->id = id;
    fill_info(&device->info, &a);
    memcpy(device->platform_version, a.platform_version, sizeof device->platform_version);
    device->cl_version = lower_version(&a);
    device->out_of_order = (a.queue & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    /* Every device of OpenCL 2 has it; the query came with 3.0, where it is optional. */
    device->vector_bytes = a.vector_floats * (unsigned)sizeof(float);
    device->odd_groups =
        device->cl_version >= 300 ? a.non_uniform != CL_FALSE : device->cl_version >= 200;
    if (device->cl_version >= 200) {
        device->shares_coarsely = (a.sharing & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
        device->shares_finely = (a.sharing & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
    }
    device->most_items = a.address_bits == 32 ? UINT32_MAX : SIZE_MAX;
    ask_max_local(id, device->max_local);
    device->compute_capability = ask_compute_capability(id);
    device->quirks = quirk_bits(device);
    cls_status status = ask_extension(id, "cl_khr_priority_hints", &device->priority_hints);
    if (!status && device->cl_version >= 300 && ask_uuid(id, device->uuid))
        status = ask_extension(id, "cl_khr_external_memory_opaque_fd", &device->imports_fds);
    if (!status)
        status = name_identity(device);
    if (status) {
        device_free(device);
        return status;
    }
    if (device->quirks & QUIRK_SERIALIZE_CALLS)
        driver_serial_require();
    *out = device;
    return CLS_SUCCESS;
}
