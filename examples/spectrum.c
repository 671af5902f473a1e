/* SPDX-License-Identifier: MIT */
/*
 * The spectrum of a stream of frames: a ring of buffers, and a stream each for uploads, transforms and downloads, so that the
 * next frames come and the last spectra go while the device transforms these.
 *
 * For sensors, sound and radio: signals without end that are looked at by their frequencies. A slot holds the frames of one
 * batch and, behind them, their spectra; one plan transforms them all at once. Here a frame has one tone, which goes up
 * from frame to frame, and the largest number of its spectrum tells which.
 */
#include <clstream.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1024, BINS = LENGTH / 2 + 1, FRAMES = 32 };

static const size_t signal_count = (size_t)FRAMES * LENGTH,
                    spectrum_count = (size_t)FRAMES * BINS * 2;

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

/* How many periods of the tone a frame has. */
static unsigned tone_of(size_t frame) { return 3 + (unsigned)(frame * 7 % (LENGTH / 2 - 6)); }

static void record(float *frames, size_t first) {
    const double step = 2 * 3.14159265358979323846 / LENGTH;
    for (size_t f = 0; f < FRAMES; f++)
        for (unsigned i = 0; i < LENGTH; i++)
            frames[f * LENGTH + i] =
                (float)sin(step * (double)(i * (uint64_t)tone_of(first + f) % LENGTH));
}

static unsigned loudest(const float *spectrum) {
    unsigned found = 0;
    float most = 0;
    for (unsigned k = 0; k < BINS; k++) {
        const float re = spectrum[2 * k], im = spectrum[2 * k + 1], power = re * re + im * im;
        if (power > most) {
            most = power;
            found = k;
        }
    }
    return found;
}

static void check(const float *spectra, size_t first) {
    for (size_t f = 0; f < FRAMES; f++) {
        const unsigned got = loudest(spectra + f * BINS * 2), want = tone_of(first + f);
        if (got != want) {
            fprintf(stderr, "frame %zu: tone %u, not %u\n", first + f, got, want);
            exit(1);
        }
    }
}

static cls_fft_plan make_plan(void) {
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    cls_fft_plan plan;
    config.kind = CLS_FFT_REAL;
    config.lengths[0] = LENGTH;
    config.batches = FRAMES;
    config.directions = CLS_FFT_FORWARD;
    must(cls_fft_plan_create(NULL, &config, &plan));
    return plan;
}

int main(int argc, char **argv) {
    const size_t rounds = argc > 1 && !strcmp(argv[1], "--quick") ? 6 : 200;
    const size_t in_bytes = signal_count * sizeof(float),
                 out_bytes = spectrum_count * sizeof(float);
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    cls_stream up, work, down;
    cls_slot slot;
    void *in, *out;
    if (!cls_fft_available()) {
        puts("skipped: this library was built without VkFFT");
        return 77;
    }
    const cls_fft_plan plan = make_plan();
    must(cls_stream_create(NULL, NULL, &up));
    must(cls_stream_create(NULL, NULL, &work));
    must(cls_stream_create(NULL, NULL, &down));
    must(cls_triple_buffer_create(NULL, in_bytes + out_bytes, &config, &ring));
    must(cls_host_alloc(NULL, 3 * in_bytes, &in)); /* of each slot: pinned, for fast copies */
    must(cls_host_alloc(NULL, 3 * out_bytes, &out));
    for (size_t round = 0; round < rounds + 3; round++) {
        must(cls_triple_buffer_upload_slot(ring, up, &slot)); /* its last round is done */
        float *frames = (float *)in + slot.index * signal_count,
              *spectra = (float *)out + slot.index * spectrum_count;
        if (round >= 3)
            check(spectra, (round - 3) * FRAMES);
        record(frames, round * FRAMES);
        must(cls_copy_h2d_async(slot.buffer, 0, frames, in_bytes, up));
        must(cls_triple_buffer_process_slot(ring, work, &slot));
        must(cls_fft_async(plan, cls_array_of(slot.buffer, CLS_F32, signal_count),
                           cls_array_at(slot.buffer, CLS_F32, signal_count, spectrum_count),
                           CLS_FFT_FORWARD, work));
        must(cls_triple_buffer_download_slot(ring, down, &slot));
        must(cls_copy_d2h_async(spectra, slot.buffer, in_bytes, out_bytes, down));
        must(cls_triple_buffer_advance(ring));
    }
    must(cls_stream_synchronize(down));
    printf("%zu frames of %d samples: every tone found\n", rounds * FRAMES, LENGTH);
    must(cls_triple_buffer_destroy(ring));
    must(cls_fft_plan_destroy(plan));
    must(cls_host_free(in));
    must(cls_host_free(out));
    must(cls_stream_destroy(up));
    must(cls_stream_destroy(work));
    must(cls_stream_destroy(down));
    return 0;
}
