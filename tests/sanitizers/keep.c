/* SPDX-License-Identifier: MIT */
/* Preloaded under a sanitizer: what is loaded stays, so that a report at exit can name the driver that an
 * allocation came from. */
int dlclose(void *handle);

int dlclose(void *handle) {
    (void)handle;
    return 0;
}
