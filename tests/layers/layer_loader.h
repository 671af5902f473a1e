/* SPDX-License-Identifier: MIT */
/* By what the loader finds a layer; included last in a layer's file. */
#include <stdio.h>

static cl_icd_dispatch layer_table;

LAYER_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
                                               size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *from = &version;
    size_t needed = sizeof version;
    if (name == CL_LAYER_NAME) {
        from = layer_name();
        needed = strlen(from) + 1;
    } else if (name != CL_LAYER_API_VERSION) {
        return CL_INVALID_VALUE;
    }
    return layer_answer(from, needed, size, value, size_ret);
}

/* A table below that is shorter than ours leaves the missing entries null, as the loader does. */
LAYER_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                            cl_uint *count_ret, const cl_icd_dispatch **out) {
    const cl_uint ours = sizeof next / sizeof(void *);
    if (!target || !count_ret || !out)
        return CL_INVALID_VALUE;
    cl_uint known = count < ours ? count : ours;
    memcpy(&next, target, known * sizeof(void *));
    memcpy(&layer_table, &next, sizeof next);
    layer_fill(&layer_table);
    layer_override(&layer_table);
    *count_ret = known;
    *out = &layer_table;
    fprintf(stderr, "# %s: %d calls wrapped\n", layer_name(), (int)LAYER_CALLS);
    return CL_SUCCESS;
}
