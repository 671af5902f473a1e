/* SPDX-License-Identifier: MIT */
/*
 * Groups: the takings of shops, from receipts in no order. Receipts are sorted by their shop, added up shop by shop, and the
 * best shops found, all of it submitted at once: how many shops there are stays on the device, where the next call reads it.
 * Look at report(): `n_shops` is written by one call and the length of the next.
 */
#include <clstream.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECEIPTS = 1 << 20, SHOPS = 40000, BEST = 5 };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        exit(1);
    }
}

static cls_array new_array(cls_dtype dtype, size_t count) {
    cls_buffer buffer;
    must(cls_buffer_create(NULL, count * cls_dtype_size(dtype), &buffer));
    return cls_array_of(buffer, dtype, count);
}

static void download(cls_array from, void *to, cls_stream stream) {
    must(cls_copy_d2h(to, from.buffer, 0, from.count * cls_dtype_size(from.dtype), stream));
}

/* Some shops have many more receipts than others; amounts are in cents. */
static void draw_receipts(uint32_t *shop, uint32_t *amount) {
    uint32_t state = 1;
    for (size_t i = 0; i < RECEIPTS; i++) {
        state = state * 1664525u + 1013904223u;
        const uint64_t low = state >> 8, most = SHOPS;
        shop[i] = (uint32_t)((low * low >> 24) * most >> 24);
        amount[i] = 100 + (state >> 20);
    }
}

struct takings {
    cls_array shops, sums, n_shops, best, who;
};

static void report(cls_array shop, cls_array amount, const struct takings *to, cls_stream stream) {
    const cls_array all = {0};
    cls_sort_config descending = CLS_SORT_CONFIG_INIT;
    descending.descending = 1;
    descending.length = to->n_shops;
    must(cls_sort_pairs_async(shop, shop, amount, amount, NULL, stream));
    must(cls_reduce_by_key_async(CLS_SCAN_SUM, shop, amount, to->shops, to->sums, to->n_shops, all,
                                 stream));
    must(cls_top_k_async(to->sums, to->best, to->who, &descending, stream));
}

/* The same on the host. Returns whether the best are right. */
static int check(const uint32_t *shop, const uint32_t *amount, const uint32_t best[BEST],
                 int64_t n_shops) {
    static uint32_t sums[SHOPS];
    int64_t n = 0;
    uint32_t limit = UINT32_MAX;
    for (size_t i = 0; i < RECEIPTS; i++) {
        n += sums[shop[i]] == 0;
        sums[shop[i]] += amount[i];
    }
    for (int k = 0; k < BEST; k++) {
        uint32_t most = 0;
        for (int s = 0; s < SHOPS; s++)
            most = sums[s] < limit && sums[s] > most ? sums[s] : most;
        if (most != best[k])
            return 0;
        limit = most;
    }
    return n == n_shops;
}

int main(void) {
    static uint32_t shop[RECEIPTS], amount[RECEIPTS];
    uint32_t best[BEST], who[BEST], number;
    int64_t n_shops;
    cls_stream stream;
    must(cls_stream_create(NULL, NULL, &stream));
    draw_receipts(shop, amount);
    const cls_array shops = new_array(CLS_U32, RECEIPTS), amounts = new_array(CLS_U32, RECEIPTS);
    const struct takings takings = {new_array(CLS_U32, SHOPS), new_array(CLS_U32, SHOPS),
                                    new_array(CLS_I64, 1), new_array(CLS_U32, BEST),
                                    new_array(CLS_U32, BEST)};
    must(cls_copy_h2d_async(shops.buffer, 0, shop, sizeof shop, stream));
    must(cls_copy_h2d_async(amounts.buffer, 0, amount, sizeof amount, stream));
    report(shops, amounts, &takings, stream);
    download(takings.best, best, stream);
    download(takings.who, who, stream);
    download(takings.n_shops, &n_shops, stream);
    printf("%d receipts of %lld shops\n", RECEIPTS, (long long)n_shops);
    for (int k = 0; k < BEST; k++) {
        must(cls_copy_d2h(&number, takings.shops.buffer, who[k] * sizeof number, sizeof number,
                          stream));
        printf("shop %5u took %9.2f\n", number, best[k] / 100.0);
    }
    const int is_right = check(shop, amount, best, n_shops);
    printf("%s\n", is_right ? "The sums are right." : "The sums are WRONG.");
    const cls_array arrays[] = {shops,        amounts,         takings.shops, takings.sums,
                                takings.best, takings.n_shops, takings.who};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        must(cls_buffer_destroy(arrays[i].buffer));
    must(cls_stream_destroy(stream));
    return !is_right;
}
