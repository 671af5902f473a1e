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
#include "driver/loader.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/status.h"
#include "system/processes.h"

enum { MAX_DIMENSIONS = 16 };

/* Not all headers have these numbers, which belong to extensions. */
enum {
    PCI_BUS_NV = 0x4008,
    PCI_SLOT_NV = 0x4009,
    PCI_DOMAIN_NV = 0x400a,
    TOPOLOGY_AMD = 0x4037,
    PCI_BUS_INFO = 0x410f
};

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
    cl_bool images;
    size_t image_2d[2], image_3d[3], image_layers;
    size_t parameters;
    cl_ulong constant, cache;
    cl_uint samplers, cache_line, clock, floats, doubles;
    cl_bool non_uniform;
    cl_device_svm_capabilities sharing;
    char platform_version[128];
    char name[128];
    char vendor[128];
    char platform[128];
    char version[128];
    char driver_version[128];
    char c_version[128];
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
    NUMBER(CL_DEVICE_IMAGE_SUPPORT, images),
    NUMBER(CL_DEVICE_IMAGE2D_MAX_WIDTH, image_2d[0]),
    NUMBER(CL_DEVICE_IMAGE2D_MAX_HEIGHT, image_2d[1]),
    NUMBER(CL_DEVICE_IMAGE3D_MAX_WIDTH, image_3d[0]),
    NUMBER(CL_DEVICE_IMAGE3D_MAX_HEIGHT, image_3d[1]),
    NUMBER(CL_DEVICE_IMAGE3D_MAX_DEPTH, image_3d[2]),
    NUMBER(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, image_layers),
    NUMBER(CL_DEVICE_MAX_PARAMETER_SIZE, parameters),
    NUMBER(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, constant),
    NUMBER(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cache),
    NUMBER(CL_DEVICE_MAX_SAMPLERS, samplers),
    NUMBER(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cache_line),
    NUMBER(CL_DEVICE_MAX_CLOCK_FREQUENCY, clock),
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, floats),
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, doubles),
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
    if (!ask_name(ask_device, id, CL_DEVICE_OPENCL_C_VERSION, a->c_version, sizeof a->c_version))
        a->c_version[0] = '\0';
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
    const unsigned platform = parse_version(a->platform_version), loader = loader_version();
    unsigned lowest = parse_version(a->version);
    lowest = platform < lowest ? platform : lowest;
    return loader < lowest ? loader : lowest;
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

static void fill_images(cls_device_info *info, const struct answers *a) {
    info->has_images = a->images != CL_FALSE;
    if (!info->has_images)
        return;
    memcpy(info->max_image_2d, a->image_2d, sizeof info->max_image_2d);
    memcpy(info->max_image_3d, a->image_3d, sizeof info->max_image_3d);
    info->max_image_layers = a->image_layers;
    info->max_samplers = a->samplers;
}

/* What the library itself does not need. */
static void fill_rest(struct device *device, const struct answers *a) {
    cls_device_info *info = &device->info;
    memcpy(info->c_version, a->c_version, sizeof info->c_version);
    info->extensions = device->extensions;
    info->max_constant = a->constant;
    info->cache_bytes = a->cache;
    info->max_parameters = a->parameters;
    info->opencl_version = parse_version(a->version);
    info->address_bits = a->address_bits;
    info->cache_line = a->cache_line;
    info->clock_mhz = a->clock;
    info->float_width = a->floats;
    info->double_width = info->has_fp64 ? a->doubles : 0;
    for (unsigned i = 0; i < 3; i++)
        info->max_work_items[i] = device->max_local[i] == SIZE_MAX ? 0 : device->max_local[i];
}

bool device_list_has(const char *list, const char *name) {
    const size_t length = strlen(name);
    while (*list) {
        const size_t n = strcspn(list, " ");
        if (n == length && !strncmp(list, name, n))
            return true;
        list += n + strspn(list + n, " ");
    }
    return false;
}

/* Without an answer from the driver there are no extensions; only lack of memory is a failure. */
static cls_status ask_extensions(struct device *device) {
    size_t size = 0;
    if (clGetDeviceInfo(device->id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS)
        size = 0;
    device->extensions = calloc(1, size + 1);
    if (!device->extensions)
        return error_no_memory("for a device entry");
    if (size && clGetDeviceInfo(device->id, CL_DEVICE_EXTENSIONS, size, device->extensions, NULL) !=
                    CL_SUCCESS)
        device->extensions[0] = '\0';
    return CLS_SUCCESS;
}

static bool has_extension(const struct device *device, const char *name) {
    return device_list_has(device->extensions, name);
}

/* Drivers of OpenCL 3.0 that do not know the query refuse it. */
static void ask_uuid(struct device *device) {
    cls_device_info *info = &device->info;
    size_t used = 0;
    if (device->cl_version < 300 && !has_extension(device, "cl_khr_device_uuid"))
        return;
    if (clGetDeviceInfo(device->id, CL_DEVICE_UUID_KHR, sizeof info->uuid, info->uuid, &used) ==
            CL_SUCCESS &&
        used == sizeof info->uuid)
        info->has_uuid = 1;
    else
        memset(info->uuid, 0, sizeof info->uuid);
}

/* --- the place on the PCI bus, by the extension that the device has --- */

static bool ask_number(cl_device_id id, cl_uint param, cl_uint *out) {
    return clGetDeviceInfo(id, param, sizeof *out, out, NULL) == CL_SUCCESS;
}

static bool ask_pci_khr(cl_device_id id, uint32_t place[4]) {
    cl_uint told[4];
    if (clGetDeviceInfo(id, PCI_BUS_INFO, sizeof told, told, NULL) != CL_SUCCESS)
        return false;
    memcpy(place, told, sizeof told);
    return true;
}

/* The slot is device and function, of five and three bits. Older drivers tell no domain. */
static bool ask_pci_nvidia(cl_device_id id, uint32_t place[4]) {
    cl_uint domain, bus, slot;
    if (!ask_number(id, PCI_BUS_NV, &bus) || !ask_number(id, PCI_SLOT_NV, &slot))
        return false;
    if (!ask_number(id, PCI_DOMAIN_NV, &domain))
        domain = 0;
    const uint32_t told[4] = {domain, bus, slot >> 3, slot & 7};
    memcpy(place, told, sizeof told);
    return true;
}

/* A word that says that it is PCI Express, 17 bytes that are not used, and a byte for each number. */
static bool ask_pci_amd(cl_device_id id, uint32_t place[4]) {
    enum { PCIE = 1 };
    unsigned char at[24];
    cl_uint type;
    if (clGetDeviceInfo(id, TOPOLOGY_AMD, sizeof at, at, NULL) != CL_SUCCESS)
        return false;
    memcpy(&type, at, sizeof type);
    if (type != PCIE)
        return false;
    const uint32_t told[4] = {0, at[21], at[22], at[23]};
    memcpy(place, told, sizeof told);
    return true;
}

static void ask_pci(struct device *device) {
    static const struct {
        const char *extension;
        bool (*ask)(cl_device_id id, uint32_t place[4]);
    } ways[] = {{"cl_khr_pci_bus_info", ask_pci_khr},
                {"cl_nv_device_attribute_query", ask_pci_nvidia},
                {"cl_amd_device_attribute_query", ask_pci_amd}};
    cls_device_info *info = &device->info;
    uint32_t place[4] = {0};
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !info->has_pci; i++)
        info->has_pci = has_extension(device, ways[i].extension) && ways[i].ask(device->id, place);
    info->pci_domain = place[0];
    info->pci_bus = place[1];
    info->pci_device = place[2];
    info->pci_function = place[3];
}

/* Devices of others than NVIDIA refuse the query (cl_nv_device_attribute_query). */
static unsigned ask_compute_capability(cl_device_id id) {
    cl_uint major = 0, minor = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, NULL) ||
        clGetDeviceInfo(id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor, NULL))
        return 0;
    return 10 * major + minor;
}

/* A binary made for this CPU must not be loaded on another one that shares the home directory. */
static void append_instruction_set(void *text, const char *line) {
    text_append(text, line, strlen(line));
}

static cls_status name_identity(struct device *device) {
    const cls_device_info *info = &device->info;
    struct text text = {0};
    text_printf(&text, "%s\n%s\n%s\n%s\n%s\n%s\n%u units, type %d\n", info->platform,
                device->platform_version, info->name, info->vendor, info->version,
                info->driver_version, (unsigned)info->compute_units, (int)info->type);
    if (info->type == CLS_DEVICE_CPU)
        system_describe_processor(append_instruction_set, &text);
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
    free(device->extensions);
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
    cls_status status = ask_extensions(device);
    if (!status) {
        fill_images(&device->info, &a);
        fill_rest(device, &a);
        ask_uuid(device);
        ask_pci(device);
        device->priority_hints = has_extension(device, "cl_khr_priority_hints");
        device->limits_registers = has_extension(device, "cl_nv_compiler_options");
        device->imports_fds = device->cl_version >= 300 && device->info.has_uuid &&
                              has_extension(device, "cl_khr_external_memory_opaque_fd");
    }
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
