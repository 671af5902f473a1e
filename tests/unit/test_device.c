/* SPDX-License-Identifier: MIT */
/* The device list, choosing from it, and quirks. Each test lists the devices in a process of its
 * own. */
#include "../support/test.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include <clstream/device.h>
#include <clstream/stream.h>

#include "driver/device.h"
#include "driver/quirk.h"
#include "driver/serial.h"

#include "child.h"

#define NEED_DEVICES(count)                               \
    do {                                                  \
        CHECK(cls_device_count(&(count)) == CLS_SUCCESS); \
        if ((count) == 0)                                 \
            return NO_DEVICES;                            \
    } while (0)

static int list_is_stable_body(void *arg) {
    struct device *const *devices, *const *again;
    size_t count, n;
    (void)arg;
    NEED_DEVICES(n);
    CHECK(device_list(&devices, &count) == CLS_SUCCESS && count == n);
    CHECK(device_list(&again, &n) == CLS_SUCCESS && again == devices && n == count);
    for (size_t i = 0; i < count; i++) {
        struct device *found = NULL;
        CHECK(devices[i]->index == i);
        CHECK(device_of_id(devices[i]->id, &found) == CLS_SUCCESS && found == devices[i]);
        CHECK(devices[i]->cl_version >= 120 && devices[i]->identity && devices[i]->key != 0);
        CHECK(devices[i]->info.max_work_group > 0 && devices[i]->info.base_align > 0);
        CHECK(devices[i]->info.global_memory >= devices[i]->info.max_allocation);
    }
    return 0;
}

static void list_is_stable(void **state) {
    (void)state;
    child_expect_well(list_is_stable_body, NULL);
}

static void *list_in_thread(void *arg) {
    struct device *const *devices;
    size_t count;
    (void)arg;
    return device_list(&devices, &count) == CLS_SUCCESS && count ? devices[0] : NULL;
}

/* Drivers are loaded here: one that a passing thread loads changes that thread's signal stack,
 * which ASan does not bear. */
static int load_drivers(void) {
    cl_platform_id platforms[16];
    cl_uint count = 0, devices;
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < count && i < 16; i++)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    return (int)count;
}

static int threads_body(void *arg) {
    pthread_t threads[8];
    void *first = NULL;
    size_t n;
    (void)arg;
    if (load_drivers() == 0)
        return NO_DEVICES;
    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, list_in_thread, NULL) == 0);
    for (size_t i = 0; i < 8; i++) {
        void *device;
        CHECK(pthread_join(threads[i], &device) == 0);
        CHECK(i == 0 || device == first);
        first = device;
    }
    NEED_DEVICES(n);
    CHECK(first != NULL);
    return 0;
}

static void threads_make_one_list(void **state) {
    (void)state;
    child_expect_well(threads_body, NULL);
}

static bool has_priorities(void) {
    cls_capability capability = {.name = ""};
    for (size_t i = 0; strcmp(capability.name, "priorities") != 0; i++)
        if (cls_device_get_capability(0, i, &capability))
            return false;
    return capability.value != 0;
}

static int bad_input_body(void *arg) {
    cls_device_info info = CLS_DEVICE_INFO_INIT, before;
    cls_capability capability;
    cls_quirk quirk;
    size_t n, index = 77;
    int least = 7, greatest = 7;
    (void)arg;
    NEED_DEVICES(n);
    CHECK(cls_device_count(NULL) == CLS_ERROR_INVALID_VALUE);
    CHECK(cls_device_find("0", NULL) == CLS_ERROR_INVALID_VALUE);
    CHECK(cls_device_get_info(0, NULL) == CLS_ERROR_INVALID_VALUE);
    CHECK(cls_device_get_capability(0, 0, NULL) == CLS_ERROR_INVALID_VALUE);
    CHECK(cls_device_get_quirk(0, 0, NULL) == CLS_ERROR_INVALID_VALUE);
    info.size--;
    before = info;
    CHECK(cls_device_get_info(0, &info) == CLS_ERROR_INVALID_VALUE);
    info.size++;
    CHECK(cls_device_get_info(n, &info) == CLS_ERROR_NO_DEVICE);
    CHECK(!memcmp(info.name, before.name, sizeof info.name));
    CHECK(cls_device_get_info(n - 1, &info) == CLS_SUCCESS && info.name[0] != '\0');
    CHECK(info.size == sizeof info);
    CHECK(cls_device_get_capability(n, 0, &capability) == CLS_ERROR_NO_DEVICE);
    CHECK(cls_device_get_capability(0, 1000, &capability) == CLS_ERROR_OUT_OF_RANGE);
    CHECK(cls_device_get_quirk(n, 0, &quirk) == CLS_ERROR_NO_DEVICE);
    CHECK(cls_device_get_priority_range(n, &least, &greatest) == CLS_ERROR_NO_DEVICE);
    CHECK(cls_device_get_priority_range(0, NULL, &greatest) == CLS_ERROR_INVALID_VALUE);
    CHECK(cls_device_get_priority_range(0, &least, NULL) == CLS_ERROR_INVALID_VALUE);
    CHECK(least == 7 && greatest == 7);
    CHECK(cls_device_get_priority_range(0, &least, &greatest) == CLS_SUCCESS);
    CHECK((least == CLS_PRIORITY_LOW && greatest == CLS_PRIORITY_HIGH) ||
          (least == CLS_PRIORITY_NORMAL && greatest == CLS_PRIORITY_NORMAL));
    CHECK(has_priorities() == (least != greatest));
    CHECK(cls_device_get_quirk(0, 1000, &quirk) == CLS_ERROR_OUT_OF_RANGE);
    CHECK(cls_device_find("no such device", &index) == CLS_ERROR_NO_DEVICE && index == 77);
    return 0;
}

static void bad_input_is_a_status(void **state) {
    (void)state;
    child_expect_well(bad_input_body, NULL);
}

static void upper(char *text) {
    for (; *text; text++)
        *text = (char)toupper((unsigned char)*text);
}

static int choice_body(void *arg) {
    cls_device_info info = CLS_DEVICE_INFO_INIT, found = CLS_DEVICE_INFO_INIT;
    char part[16];
    size_t n, index;
    (void)arg;
    NEED_DEVICES(n);
    unsetenv("CLSTREAM_DEVICE");
    CHECK(cls_device_get_info(0, &info) == CLS_SUCCESS);
    CHECK(cls_device_find("0", &index) == CLS_SUCCESS && index == 0);
    snprintf(part, sizeof part, "%.7s", info.platform + 1); /* from within the name */
    upper(part);
    CHECK(cls_device_find(part, &index) == CLS_SUCCESS && index == 0);
    CHECK(cls_device_find(info.name, &index) == CLS_SUCCESS);
    CHECK(cls_device_get_info(index, &found) == CLS_SUCCESS && !strcmp(found.name, info.name));
    const char *type = device_type_name(info.type);
    CHECK(cls_device_find(type, &index) == CLS_SUCCESS);
    CHECK(cls_device_get_info(index, &found) == CLS_SUCCESS && found.type == info.type);
    setenv("CLSTREAM_DEVICE", type, 1);
    CHECK(cls_device_find(NULL, &index) == CLS_SUCCESS);
    CHECK(cls_device_get_info(index, &found) == CLS_SUCCESS && found.type == info.type);
    setenv("CLSTREAM_DEVICE", "nothing like it", 1);
    CHECK(cls_device_find("0", &index) == CLS_SUCCESS && index == 0);
    CHECK(cls_device_find("", &index) == CLS_ERROR_NO_DEVICE);
    CHECK(strstr(cls_last_error_detail(), "CLSTREAM_DEVICE") != NULL);
    CHECK(strstr(cls_last_error_detail(), "nothing like it") != NULL);
    CHECK(strstr(cls_last_error_detail(), info.name) != NULL);
    setenv("CLSTREAM_DEVICE", "", 1);
    CHECK(cls_device_find(NULL, &index) == CLS_SUCCESS);
    return 0;
}

static void devices_are_chosen_by_index_type_and_name(void **state) {
    (void)state;
    child_expect_well(choice_body, NULL);
}

static bool has_whole(const char *name, const char *digits) {
    while (*(name += strcspn(name, "0123456789"))) {
        const size_t length = strspn(name, "0123456789");
        if (length == strlen(digits) && !memcmp(name, digits, length))
            return true;
        name += length;
    }
    return false;
}

/* An index past the last device is not found in the middle of a number. */
static int digits_body(void *arg) {
    char digits[16];
    size_t n, index;
    (void)arg;
    NEED_DEVICES(n);
    for (size_t number = n; number < 5000; number++) {
        bool named = false;
        snprintf(digits, sizeof digits, "%zu", number);
        for (size_t i = 0; i < n; i++) {
            cls_device_info info = CLS_DEVICE_INFO_INIT;
            CHECK(cls_device_get_info(i, &info) == CLS_SUCCESS);
            named = named || has_whole(info.name, digits) || has_whole(info.platform, digits);
        }
        CHECK((cls_device_find(digits, &index) == CLS_SUCCESS) == named);
    }
    return 0;
}

static void digits_are_an_index_or_a_whole_number(void **state) {
    (void)state;
    child_expect_well(digits_body, NULL);
}

/* A folder without drivers, as on a machine without any. */
static int no_driver_body(void *arg) {
    char folder[] = "/tmp/clstream-none-XXXXXX";
    size_t n = 77, index = 77;
    (void)arg;
    CHECK(mkdtemp(folder) != NULL);
    setenv("OCL_ICD_VENDORS", folder, 1);
    cls_status counted = cls_device_count(&n);
    cls_status found = cls_device_find(NULL, &index);
    rmdir(folder);
    if (counted == CLS_SUCCESS && n > 0)
        return NO_DEVICES; /* not ocl-icd: this loader looks elsewhere */
    CHECK(counted == CLS_SUCCESS);
    CHECK(found == CLS_ERROR_NO_DEVICE && index == 77);
    CHECK(strstr(cls_last_error_detail(), "pocl-opencl-icd") != NULL);
    return 0;
}

static void machine_without_driver_is_told_what_to_install(void **state) {
    (void)state;
    int line = child_run(no_driver_body, NULL);
    if (line == NO_DEVICES) {
        print_message("this OpenCL loader does not heed OCL_ICD_VENDORS\n");
        skip();
    }
    if (line != 0)
        fail_msg("check in line %d failed", line);
}

static int sub_device_body(void *arg) {
    const cl_device_partition_property one_each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    struct device *const *devices;
    struct device *entry = NULL, *again = NULL;
    cl_device_id parts[64];
    cl_uint made = 0, possible = 0;
    size_t n;
    (void)arg;
    NEED_DEVICES(n);
    CHECK(device_list(&devices, &n) == CLS_SUCCESS);
    clGetDeviceInfo(devices[0]->id, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof possible, &possible,
                    NULL);
    if (possible < 2) /* the call itself crashes rusticl 22.3.6 */
        return NO_DEVICES;
    if (clCreateSubDevices(devices[0]->id, one_each, 64, parts, &made) != CL_SUCCESS || !made)
        return NO_DEVICES;
    CHECK(device_of_id(parts[0], &entry) == CLS_SUCCESS && entry != devices[0]);
    CHECK(entry->id == parts[0] && entry->index == 0 && entry->key != devices[0]->key);
    clReleaseDevice(parts[0]);
    CHECK(device_of_id(parts[0], &again) == CLS_SUCCESS && again == entry);
    CHECK(device_list(&devices, &n) == CLS_SUCCESS);
    for (size_t i = 0; i < n; i++)
        CHECK(devices[i] != entry);
    CHECK(device_of_id(NULL, &again) == CLS_ERROR_INVALID_VALUE && again == entry);
    return 0;
}

static void sub_device_has_an_entry_of_its_own(void **state) {
    (void)state;
    int line = child_run(sub_device_body, NULL);
    if (line == NO_DEVICES) {
        print_message("no device that can be partitioned here\n");
        skip();
    }
    if (line != 0)
        fail_msg("check in line %d failed", line);
}

/* Quirks: of devices made up from what drivers say of themselves. */

static unsigned bits_of(const char *platform, const char *name, const char *driver,
                        cls_device_type type) {
    struct device device = {0};
    snprintf(device.info.platform, sizeof device.info.platform, "%s", platform);
    snprintf(device.info.name, sizeof device.info.name, "%s", name);
    snprintf(device.info.driver_version, sizeof device.info.driver_version, "%s", driver);
    device.info.type = type;
    return quirk_bits(&device);
}

static void quirks_follow_platform_device_and_driver(void **state) {
    static const struct {
        const char *platform, *name, *driver;
        cls_device_type type;
        unsigned bits;
    } rows[] = {
        {"Portable Computing Language", "pthread-skylake-avx512", "3.1+debian", CLS_DEVICE_CPU,
         QUIRK_FAILED_WAIT_HANGS | QUIRK_BINARY_ABORTS | QUIRK_FAILED_RELEASE_ABORTS |
             QUIRK_PART_RECT_CRASHES | QUIRK_LOCAL_MEMORY_ABORTS | QUIRK_UNLIKE_GRIDS_ABORT},
        {"Portable Computing Language", "cpu-haswell", "6.0+debian", CLS_DEVICE_CPU,
         QUIRK_FAILED_WAIT_HANGS | QUIRK_BINARY_ABORTS | QUIRK_PART_RECT_CRASHES |
             QUIRK_LOCAL_MEMORY_ABORTS},
        {"Portable Computing Language", "cpu-haswell", "7.1", CLS_DEVICE_CPU,
         QUIRK_FAILED_WAIT_HANGS | QUIRK_BINARY_ABORTS | QUIRK_LOCAL_MEMORY_ABORTS},
        {"rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)", "22.3.6", CLS_DEVICE_CPU,
         QUIRK_BINARY_ABORTS | QUIRK_NO_CALLBACKS | QUIRK_SHORT_LOOPS | QUIRK_LATE_EXIT_HANDLER},
        {"rusticl", "llvmpipe (LLVM 19.1.7, 256 bits)", "25.0.7-2", CLS_DEVICE_CPU,
         QUIRK_SHORT_LOOPS | QUIRK_FAILURE_KILLS_QUEUE | QUIRK_LATE_EXIT_HANDLER},
        {"rusticl", "llvmpipe (LLVM 21.1.8, 256 bits)", "26.2.6-1", CLS_DEVICE_CPU,
         QUIRK_SHORT_LOOPS | QUIRK_LATE_EXIT_HANDLER | QUIRK_NULL_BUFFER_HANGS},
        {"Oclgrind", "Oclgrind Simulator", "Oclgrind 21.10", CLS_DEVICE_GPU,
         QUIRK_SERIALIZE_CALLS | QUIRK_NO_CALLBACKS},
        {"Intel(R) OpenCL", "AMD EPYC", "2026.22.10.0.01_160000", CLS_DEVICE_CPU,
         QUIRK_STATUS_LIES | QUIRK_FAILED_WAIT_HANGS | QUIRK_REST_BEFORE_RELEASE |
             QUIRK_WAITER_COMPUTES},
        {"Intel(R) OpenCL Graphics", "Intel(R) Arc(TM)", "25.1", CLS_DEVICE_GPU, 0},
        {"NVIDIA CUDA", "NVIDIA H200", "580.65.06", CLS_DEVICE_GPU,
         QUIRK_ARG_INFO_BREAKS_BUILD | QUIRK_HOST_MIGRATION_CORRUPTS | QUIRK_PART_RELEASE_CRASHES},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(bits_of(rows[i].platform, rows[i].name, rows[i].driver, rows[i].type),
                         rows[i].bits);
}

static void quirk_rows_in_force_explain_the_bits(void **state) {
    struct device device = {0};
    const struct quirk_row *row;
    unsigned bits = 0;
    size_t i = 0;
    (void)state;
    strcpy(device.info.platform, "rusticl");
    strcpy(device.info.name, "llvmpipe");
    strcpy(device.info.driver_version, "22.3.6");
    for (; (row = quirk_at(&device, i)) != NULL; i++) {
        bits |= (unsigned)row->bit;
        assert_true(strlen(row->text.name) > 0 && strlen(row->text.reason) > 0);
    }
    assert_int_equal(bits, quirk_bits(&device));
    assert_true(i > 3);
    assert_null(quirk_at(&device, i + 1));
    strcpy(device.info.platform, "Some Other");
    assert_null(quirk_at(&device, 0));
}

static int entered; /* by how many threads: only touched inside, so a race is a sanitizer's find */

static void *enter_in_thread(void *arg) {
    const struct device *device = arg;
    int most = 0;
    for (int i = 0; i < 20000; i++) {
        driver_enter(device);
        entered++;
        most = entered > most ? entered : most;
        entered--;
        driver_leave(device);
    }
    return most == 1 ? arg : NULL;
}

static void serialised_device_is_entered_by_one_thread(void **state) {
    struct device device = {0};
    pthread_t threads[4];
    (void)state;
    device.quirks = QUIRK_SERIALIZE_CALLS;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_in_thread, &device), 0);
    for (size_t i = 0; i < 4; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &device);
    }
    device.quirks = 0;
    driver_enter(&device);
    driver_enter(&device); /* no lock at all, so this does not wait for itself */
    driver_leave(&device);
    driver_leave(&device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_is_stable),
        cmocka_unit_test(threads_make_one_list),
        cmocka_unit_test(bad_input_is_a_status),
        cmocka_unit_test(devices_are_chosen_by_index_type_and_name),
        cmocka_unit_test(digits_are_an_index_or_a_whole_number),
        cmocka_unit_test(machine_without_driver_is_told_what_to_install),
        cmocka_unit_test(sub_device_has_an_entry_of_its_own),
        cmocka_unit_test(quirks_follow_platform_device_and_driver),
        cmocka_unit_test(quirk_rows_in_force_explain_the_bits),
        cmocka_unit_test(serialised_device_is_entered_by_one_thread),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
