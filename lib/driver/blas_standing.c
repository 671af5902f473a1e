/* SPDX-License-Identifier: MIT */
#include "driver/blas_standing.h"

#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "driver/blas_parameters.h"
#include "driver/cache_file.h"
#include "driver/device_state.h"
#include "system/files.h"
#include "system/libraries.h"

#ifdef HAVE_CLBLAST
#include <clblast_c.h>
#endif

/* Counts up with every change of the record, of the trial or of what fits. */
enum { FORMAT = 1 };

struct blas_record {
    double made, gain;
    int32_t verdict, reserved;
    char parameters[sizeof((cls_blas_tuning *)NULL)->parameters];
};

/* Around the members that are not atomic, and files. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct blas_standing *blas_standing_of(const struct device *device, bool f64) {
    return &device->state->blas[f64];
}

/* The name of the library's file has the version that runs, which need not be that of the header. */
static void name_library(struct text *key) {
#ifdef HAVE_CLBLAST
    char *file = library_of((const void *)&CLBlastClearCache);
    char *path = file ? file_resolve(file) : NULL;
    text_printf(key, "clblast %d.%d.%d in %s\n", CLBLAST_VERSION_MAJOR, CLBLAST_VERSION_MINOR,
                CLBLAST_VERSION_PATCH, path ? path : "");
    free(path);
    free(file);
#else
    (void)key;
#endif
}

/* False without memory. */
static bool name_record(const struct device *device, bool f64, struct text *key) {
    text_printf(key, "%s", device->identity);
    name_library(key);
    text_printf(key, "record %d of %s\n", FORMAT, f64 ? "f64" : "f32");
    return !key->failed;
}

static bool parse_parameters(const struct device *device, bool f64, const char *text,
                             struct blas_parameters *out) {
    return blas_parameters_parse(text, &device->info, f64 ? sizeof(double) : sizeof(float), out);
}

static bool is_sound(const struct device *device, bool f64, const struct blas_record *record) {
    struct blas_parameters unused;
    return memchr(record->parameters, '\0', sizeof record->parameters) && isfinite(record->gain) &&
           record->made >= 0 && record->made < 1e12 && record->verdict >= TRIAL_UNTRIED &&
           record->verdict <= TRIAL_WRONG &&
           parse_parameters(device, f64, record->parameters, &unused);
}

static bool load_record(const struct device *device, bool f64, struct blas_record *record) {
    struct text key = {0};
    struct cache_bytes payload;
    void *owned = NULL;
    bool found =
        name_record(device, f64, &key) &&
        cache_load(CACHE_BLAS, (struct cache_bytes){key.bytes, key.length}, &payload, &owned);
    found = found && payload.size == sizeof *record;
    if (found)
        memcpy(record, payload.bytes, sizeof *record);
    free(owned);
    free(key.bytes);
    return found && is_sound(device, f64, record);
}

static void store_record(const struct device *device, bool f64, enum trial_verdict verdict) {
    const struct blas_standing *standing = blas_standing_of(device, f64);
    struct blas_record record;
    struct text key = {0};
    memset(&record, 0, sizeof record);
    record.made = (double)standing->tuning.made;
    record.gain = standing->tuning.gain;
    record.verdict = (int32_t)verdict;
    memcpy(record.parameters, standing->tuning.parameters, sizeof record.parameters);
    if (name_record(device, f64, &key))
        cache_store(CACHE_BLAS, (struct cache_bytes){key.bytes, key.length},
                    (struct cache_bytes){&record, sizeof record});
    free(key.bytes);
}

/* Under the lock. */
static struct blas_standing *load_standing(const struct device *device, bool f64) {
    struct blas_standing *standing = blas_standing_of(device, f64);
    struct blas_record record;
    if (standing->loaded)
        return standing;
    if (load_record(device, f64, &record)) {
        standing->tuning.made = (uint64_t)record.made;
        standing->tuning.gain = record.gain;
        memcpy(standing->tuning.parameters, record.parameters, sizeof record.parameters);
        standing->verdict = record.verdict;
    }
    standing->recorded = true;
    standing->loaded = true;
    return standing;
}

enum trial_verdict blas_standing_verdict(const struct device *device, bool f64) {
    struct blas_standing *standing = blas_standing_of(device, f64);
    if (!standing->loaded) {
        pthread_mutex_lock(&lock);
        load_standing(device, f64);
        pthread_mutex_unlock(&lock);
    }
    return (enum trial_verdict)standing->verdict;
}

void blas_standing_tuning(const struct device *device, bool f64, cls_blas_tuning *out) {
    pthread_mutex_lock(&lock);
    *out = load_standing(device, f64)->tuning;
    pthread_mutex_unlock(&lock);
}

bool blas_standing_set(const struct device *device, bool f64, const cls_blas_tuning *tuning,
                       bool keep) {
    struct blas_standing *standing = blas_standing_of(device, f64);
    struct blas_parameters unused;
    if (!parse_parameters(device, f64, tuning->parameters, &unused))
        return false;
    pthread_mutex_lock(&lock);
    standing->tuning = *tuning;
    standing->tuning.made = keep ? (uint64_t)time(NULL) : 0;
    standing->verdict = TRIAL_UNTRIED;
    standing->tried = standing->applied = false;
    standing->recorded = keep;
    standing->loaded = true;
    if (keep)
        store_record(device, f64, TRIAL_UNTRIED);
    pthread_mutex_unlock(&lock);
    return true;
}

static bool override(const struct device *device, bool f64, const struct blas_parameters *p,
                     unsigned i) {
#ifdef HAVE_CLBLAST
    const char *names[BLAS_MOST_PARAMETERS];
    memcpy(names, blas_kernels[i].parameters, sizeof names);
    return !CLBlastOverrideParameters(device->id, blas_kernels[i].name,
                                      f64 ? CLBlastPrecisionDouble : CLBlastPrecisionSingle,
                                      blas_kernels[i].count, names, p->values[i]);
#else
    (void)device;
    (void)f64;
    (void)p;
    (void)i;
    return false;
#endif
}

/* Parameters that CLBlast refuses, as one of another version does, are not in force. */
static void apply_parameters(const struct device *device, bool f64) {
    struct blas_standing *standing = load_standing(device, f64);
    struct blas_parameters parameters;
    bool taken = parse_parameters(device, f64, standing->tuning.parameters, &parameters);
    for (unsigned i = 0; i < BLAS_KERNELS && taken; i++)
        taken = !parameters.given[i] || override(device, f64, &parameters, i);
    if (!taken)
        standing->tuning = (cls_blas_tuning)CLS_BLAS_TUNING_INIT;
    standing->applied = true;
}

void blas_standing_apply(const struct device *device) {
    pthread_mutex_lock(&lock);
    for (int f64 = 0; f64 < 2; f64++)
        if (!blas_standing_of(device, f64)->applied)
            apply_parameters(device, f64);
    pthread_mutex_unlock(&lock);
}

void blas_standing_judge(const struct device *device, bool f64, enum trial_verdict verdict) {
    struct blas_standing *standing = blas_standing_of(device, f64);
    pthread_mutex_lock(&lock);
    const bool drops = verdict == TRIAL_WRONG && *standing->tuning.parameters;
    if (drops)
        standing->tuning = (cls_blas_tuning)CLS_BLAS_TUNING_INIT;
    if (standing->recorded && verdict != TRIAL_UNTRIED)
        store_record(device, f64, drops ? TRIAL_UNTRIED : verdict);
    standing->verdict = verdict;
    standing->tried = true;
    pthread_mutex_unlock(&lock);
}
