/* SPDX-License-Identifier: MIT */
/* A program whose functions have names that the library uses inside; static.sh links it with the static library. */
#include <clstream.h>

int device_free(int value);
int queue_create(int value);
int stream_free(void);

int device_free(int value) { return value + 1; }

int queue_create(int value) { return value - 1; }

int stream_free(void) { return 7; }

int main(void) {
    cls_stream stream;
    cls_status status = cls_stream_create(NULL, NULL, &stream);

    if (!status) {
        status = cls_stream_synchronize(stream);
    }
    if (!status) {
        status = cls_stream_destroy(stream);
    }
    return queue_create(2) != 1 || device_free(2) != 3 || stream_free() != 7 ||
           (status && status != CLS_ERROR_NO_DEVICE);
}
