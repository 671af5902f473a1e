/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <clstream/blas.h>
#include <clstream/device.h>

#include "failure.h"
#include "json.h"
#include "options.h"
#include "sharing.h"
#include "size.h"

enum { WIDTH = 98, NAME_WIDTH = 30, VALUE_WIDTH = 16 };

static const char *type_name(cls_device_type type) {
    return type == CLS_DEVICE_GPU           ? "GPU"
           : type == CLS_DEVICE_CPU         ? "CPU"
           : type == CLS_DEVICE_ACCELERATOR ? "accelerator"
                                            : "other";
}

/* Prints words from column `indent` on, broken before WIDTH; the first line starts where the
 * cursor is. */
static void print_wrapped(const char *text, int indent) {
    int column = indent;
    while (*text) {
        const size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + (int)length > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            column += printf(" ");
        }
        column += printf("%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_value(const cls_capability *figure) {
    char text[VALUE_WIDTH * 4];
    if (strcmp(figure->unit, "bool") == 0)
        snprintf(text, sizeof text, "%s", figure->value != 0 ? "yes" : "no");
    else if (strcmp(figure->unit, "trust") == 0)
        snprintf(text, sizeof text, "%s",
                 figure->value > 0    ? "right"
                 : figure->value == 0 ? "wrong"
                                      : "not tried");
    else
        snprintf(text, sizeof text, "%.6g %s", figure->value, figure->unit);
    printf("    %-*s %-*s ", NAME_WIDTH, figure->name, VALUE_WIDTH, text);
}

static cls_status print_capabilities(size_t index) {
    cls_capability figure;
    cls_status status;
    puts("  capabilities");
    for (size_t i = 0; (status = cls_device_get_capability(index, i, &figure)) == CLS_SUCCESS;
         i++) {
        print_value(&figure);
        print_wrapped(figure.meaning, 4 + NAME_WIDTH + 1 + VALUE_WIDTH + 1);
    }
    return status == CLS_ERROR_OUT_OF_RANGE ? CLS_SUCCESS : status;
}

static cls_status print_quirks(size_t index) {
    cls_quirk quirk;
    cls_status status;
    size_t i;
    for (i = 0; (status = cls_device_get_quirk(index, i, &quirk)) == CLS_SUCCESS; i++) {
        if (i == 0)
            puts("  quirks in force");
        printf("    %s\n      ", quirk.name);
        print_wrapped(quirk.reason, 6);
    }
    if (i == 0)
        puts("  no quirks in force");
    return status == CLS_ERROR_OUT_OF_RANGE ? CLS_SUCCESS : status;
}

static void print_tuning(cls_dtype dtype, const cls_blas_tuning *tuning) {
    char day[32] = "for this process";
    const time_t made = (time_t)tuning->made;
    struct tm when;
    if (made && gmtime_r(&made, &when))
        strftime(day, sizeof day, "on %Y-%m-%d", &when);
    printf("    %s: ", cls_dtype_name(dtype));
    if (tuning->refused)
        print_wrapped(tuning->refused, 6);
    else if (!*tuning->parameters)
        puts("its own parameters");
    else
        printf("tuned %s, %.2f times as fast as its own\n      ", day, tuning->gain);
    if (!tuning->refused && *tuning->parameters)
        print_wrapped(tuning->parameters, 6);
}

/* Nothing for a type that CLBlast does not compute on this device. */
static void print_products(size_t index) {
    static const cls_dtype dtypes[] = {CLS_F32, CLS_F64};
    cls_blas_tuning tuning = CLS_BLAS_TUNING_INIT;
    bool first = true;
    for (int i = 0; i < 2; i++)
        if (cls_blas_get_tuning(index, dtypes[i], &tuning) == CLS_SUCCESS) {
            fputs(first ? "  products by CLBlast\n" : "", stdout);
            print_tuning(dtypes[i], &tuning);
            first = false;
        }
}

/* Whose context can open buffers of this device's. */
static void print_sharing(size_t index, size_t count) {
    char text[SIZE_TEXT];
    puts("  its memory, used by");
    for (size_t other = 0; other < count; other++) {
        cls_share_info info = CLS_SHARE_INFO_INIT;
        const cls_status status = sharing_find(index, other, &info);
        printf("    device %zu: ", other);
        if (status != CLS_SUCCESS)
            print_wrapped(cls_last_error_detail(), 6);
        else if (info.kind == CLS_SHARE_NONE)
            print_wrapped(info.reason, 6);
        else
            printf("%s, %.3g GB/s, %s\n",
                   info.kind == CLS_SHARE_HOST_MEMORY ? "the same pages of the host"
                                                      : "a direct link",
                   info.gb_per_s, span_format((uint64_t)info.latency_ns, text));
    }
}

static void print_images(const cls_device_info *info) {
    if (info->has_images)
        printf("  %-12s %zu x %zu, %zu x %zu x %zu, arrays of %zu, %u samplers\n", "images",
               info->max_image_2d[0], info->max_image_2d[1], info->max_image_3d[0],
               info->max_image_3d[1], info->max_image_3d[2], info->max_image_layers,
               info->max_samplers);
    else
        printf("  %-12s none\n", "images");
}

static void print_identity(const cls_device_info *info) {
    if (info->has_pci)
        printf("  %-12s %04x:%02x:%02x.%x\n", "PCI", info->pci_domain, info->pci_bus,
               info->pci_device, info->pci_function);
    if (!info->has_uuid)
        return;
    printf("  %-12s ", "UUID");
    for (unsigned i = 0; i < sizeof info->uuid; i++)
        printf("%s%02x", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "", info->uuid[i]);
    putchar('\n');
}

static void print_facts(size_t index, const cls_device_info *info, bool chosen) {
    char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT];
    printf("device %zu%s\n", index, chosen ? " (default)" : "");
    printf("  %-12s %s\n", "name", info->name);
    printf("  %-12s %s, %s\n", "type", type_name(info->type), info->vendor);
    printf("  %-12s %s\n", "platform", info->platform);
    printf("  %-12s %s\n", "version", info->version);
    printf("  %-12s %s\n", "driver", info->driver_version);
    printf("  %-12s %s, %s in one buffer, %s local%s\n", "memory",
           size_format(info->global_memory, a), size_format(info->max_allocation, b),
           size_format(info->local_memory, c),
           info->unified_memory ? ", shared with the host" : "");
    printf("  %-12s %u compute units, groups of up to %u, %s\n", "compute", info->compute_units,
           info->max_work_group, info->has_fp64 ? "f64" : "no f64");
    printf("  %-12s %u x %u x %u work-items, %s arguments, %s constant\n", "limits",
           (unsigned)info->max_work_items[0], (unsigned)info->max_work_items[1],
           (unsigned)info->max_work_items[2], size_format(info->max_parameters, a),
           size_format(info->max_constant, b));
    printf("  %-12s %u MHz, %s cache in lines of %u bytes, %u-bit addresses\n", "clock",
           info->clock_mhz, size_format(info->cache_bytes, a), info->cache_line,
           info->address_bits);
    print_images(info);
    print_identity(info);
    printf("  %-12s %s\n", "OpenCL C", *info->c_version ? info->c_version : "not told");
    printf("  %-12s ", "extensions");
    print_wrapped(*info->extensions ? info->extensions : "none", 15);
}

static cls_status print_device(size_t index, size_t count, bool chosen) {
    cls_device_info info = {.size = sizeof info};
    cls_status status = cls_device_get_info(index, &info);
    if (status != CLS_SUCCESS)
        return status;
    print_facts(index, &info, chosen);
    status = print_capabilities(index);
    if (status == CLS_SUCCESS)
        status = print_quirks(index);
    if (status == CLS_SUCCESS) {
        print_products(index);
        print_sharing(index, count);
    }
    return status;
}

/* A device that cannot be described is reported, and the others are described all the same. */
static int print_devices(size_t count) {
    size_t chosen = count;
    int code = TOOL_OK;
    cls_device_find(NULL, &chosen);
    for (size_t i = 0; i < count; i++) {
        struct failure failure = {.set = false};
        if (i > 0)
            putchar('\n');
        const cls_status status = print_device(i, count, i == chosen);
        if (status != CLS_SUCCESS) {
            fail_status(&failure, status, "cannot describe the device");
            code = failure_print(&failure, TOOL_FAILED);
        }
    }
    return code;
}

int command_info(int argc, char **argv) {
    struct info_options options;
    struct failure failure = {.set = false};
    size_t count, chosen;
    int code = info_options_parse(argc, argv, &options);
    if (code != OPTIONS_GO_ON)
        return code;
    cls_status status = cls_device_count(&count);
    if (status == CLS_SUCCESS && count == 0)
        status = cls_device_find(NULL, &chosen); /* its detail says what is missing */
    if (status != CLS_SUCCESS) {
        fail_status(&failure, status, "no device");
        return failure_print(&failure, TOOL_FAILED);
    }
    if (options.json)
        return json_print_info() ? TOOL_OK : TOOL_FAILED;
    return print_devices(count);
}
