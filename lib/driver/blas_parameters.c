/* SPDX-License-Identifier: MIT */
#include "driver/blas_parameters.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Places in the table below. */
enum { GEMMK, KREG, KWG, KWI, MDIMA, MDIMC, MWG, NDIMB, NDIMC, NWG, SA, SB, STRM, STRN, VWM, VWN };
enum { KWID, MDIMAD, MDIMCD, NDIMBD, NDIMCD, PADA, PADB, VWMD, VWND, WGD };
enum { XGEMM, XGEMM_DIRECT, GEMM_ROUTINE };
enum { MOST = 256, WIDEST = 8, MOST_SIDE = 1 << 20 };

const struct blas_kernel blas_kernels[BLAS_KERNELS] = {
    {"Xgemm",
     16,
     {"GEMMK", "KREG", "KWG", "KWI", "MDIMA", "MDIMC", "MWG", "NDIMB", "NDIMC", "NWG", "SA", "SB",
      "STRM", "STRN", "VWM", "VWN"}},
    {"XgemmDirect",
     10,
     {"KWID", "MDIMAD", "MDIMCD", "NDIMBD", "NDIMCD", "PADA", "PADB", "VWMD", "VWND", "WGD"}},
    {"GemmRoutine", 1, {"XGEMM_MIN_INDIRECT_SIZE"}},
};

/* The parameters that are 0 or 1, a bit each; the others are powers of two. */
static const unsigned flags[BLAS_KERNELS] = {
    1u << GEMMK | 1u << SA | 1u << SB | 1u << STRM | 1u << STRN, 1u << PADA | 1u << PADB, 0};

static bool is_multiple_of(size_t n, size_t unit) { return unit && n % unit == 0; }

static bool are_in_range(int kernel, const size_t *v) {
    for (unsigned i = 0; i < blas_kernels[kernel].count; i++)
        if (flags[kernel] >> i & 1 ? v[i] > 1 : !v[i] || v[i] > MOST || v[i] & (v[i] - 1))
            return false;
    return true;
}

/* Whether the work-items of a group, `rows` by `columns`, copy `width` rows at a time in whole steps of `depth`. */
static bool copies_evenly(size_t depth, size_t rows, size_t columns, size_t width) {
    return is_multiple_of(rows * columns, width) && is_multiple_of(depth, rows * columns / width);
}

/* Of its two kernels the one for the work-items of GPUs. */
static bool xgemm_fits(const size_t *v, const cls_device_info *device, size_t element) {
    const size_t local = v[KWG] * (v[SA] * v[MWG] + v[SB] * v[NWG]) * element;
    return are_in_range(XGEMM, v) && v[GEMMK] == 0 && v[KREG] == 1 && v[VWM] <= WIDEST &&
           v[VWN] <= WIDEST && is_multiple_of(v[KWG], v[KWI]) &&
           is_multiple_of(v[MWG], v[MDIMC] * v[VWM]) && is_multiple_of(v[NWG], v[NDIMC] * v[VWN]) &&
           is_multiple_of(v[MWG], v[MDIMA] * v[VWM]) && is_multiple_of(v[NWG], v[NDIMB] * v[VWN]) &&
           copies_evenly(v[KWG], v[MDIMC], v[NDIMC], v[MDIMA]) &&
           copies_evenly(v[KWG], v[MDIMC], v[NDIMC], v[NDIMB]) &&
           v[MDIMC] * v[NDIMC] <= device->max_work_group && local <= device->local_memory;
}

static bool direct_fits(const size_t *v, const cls_device_info *device, size_t element) {
    const size_t local = v[WGD] * (2 * v[WGD] + v[PADA] + v[PADB]) * element;
    return are_in_range(XGEMM_DIRECT, v) && v[VWMD] <= WIDEST && v[VWND] <= WIDEST &&
           is_multiple_of(v[WGD], v[KWID]) && is_multiple_of(v[WGD], v[MDIMCD] * v[VWMD]) &&
           is_multiple_of(v[WGD], v[NDIMCD] * v[VWND]) &&
           is_multiple_of(v[WGD], v[MDIMAD] * v[VWMD]) &&
           is_multiple_of(v[WGD], v[NDIMBD] * v[VWND]) &&
           copies_evenly(v[WGD], v[MDIMCD], v[NDIMCD], v[MDIMAD]) &&
           copies_evenly(v[WGD], v[MDIMCD], v[NDIMCD], v[NDIMBD]) &&
           v[MDIMCD] * v[NDIMCD] <= device->max_work_group && local <= device->local_memory;
}

static bool routine_fits(const size_t *v, const cls_device_info *device, size_t element) {
    (void)device;
    (void)element;
    return v[0] && v[0] <= MOST_SIDE;
}

static bool find_parameter(const char *name, unsigned *kernel, unsigned *place) {
    for (*kernel = 0; *kernel < BLAS_KERNELS; ++*kernel)
        for (*place = 0; *place < blas_kernels[*kernel].count; ++*place)
            if (strcmp(name, blas_kernels[*kernel].parameters[*place]) == 0)
                return true;
    return false;
}

bool blas_parameters_parse(const char *text, const cls_device_info *device, size_t element,
                           struct blas_parameters *out) {
    static bool (*const fits[BLAS_KERNELS])(const size_t *, const cls_device_info *,
                                            size_t) = {xgemm_fits, direct_fits, routine_fits};
    unsigned seen[BLAS_KERNELS] = {0}, kernel, place;
    char name[32];
    for (int length = 0; *(text += strspn(text, " ")); text += length) {
        size_t value;
        length = 0;
        if (sscanf(text, "%31[A-Z_]=%7zu%n", name, &value, &length) != 2 || !length ||
            !find_parameter(name, &kernel, &place) || seen[kernel] >> place & 1)
            return false;
        seen[kernel] |= 1u << place;
        out->values[kernel][place] = value;
    }
    for (kernel = 0; kernel < BLAS_KERNELS; kernel++) {
        out->given[kernel] = seen[kernel] != 0;
        if (seen[kernel] && (seen[kernel] != (1u << blas_kernels[kernel].count) - 1 ||
                             !fits[kernel](out->values[kernel], device, element)))
            return false;
    }
    return true;
}
