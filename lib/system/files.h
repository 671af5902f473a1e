/* SPDX-License-Identifier: MIT */
/*
 * Files and folders. Names are UTF-8 on Windows, whatever its code page is, and bytes elsewhere. What fails sets errno,
 * where nothing else is said.
 */
#ifndef CLSTREAM_SYSTEM_FILES_H
#define CLSTREAM_SYSTEM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- names --- */

/* The folder that the process works in, with a separator behind it; false: it is unknown, or longer. */
bool file_working_folder(char *folder, size_t size);

/* Whether the name means the same in every folder. */
bool file_is_absolute(const char *path);

/* The last component of a name. */
const char *file_last_name(const char *path);

/* The most bytes of a component. */
size_t file_most_name(void);

/* The file that the name leads to, by its one absolute name; the caller frees it. */
char *file_resolve(const char *path);

/* Whether both lead to one file that is there. */
bool file_is_same(const char *path, const char *other);

/* --- any file --- */

/* As fopen: bytes are read and written as they are, and no other program inherits the file. */
FILE *file_open(const char *path, const char *mode);

bool file_is_there(const char *path);
bool file_remove(const char *path);

/* `path` names the file of `from` now, in one step: readers see the one before or the new one. */
bool file_replace(const char *from, const char *path);

/* Devices and pipes are written in place, as they cannot be replaced; so are descriptors under /dev. Files in
 * shared memory (/dev/shm) are ordinary files. A dangling symbolic link is written through, so that it leads to
 * the new file. */
bool file_is_written_in_place(const char *path);

/* --- files that are the user's own --- */

/* Where caches lie, by preference: below the value of a variable, which is the name of a folder. */
struct file_cache_place {
    const char *variable, *rest; /* NULL: the end */
};
extern const struct file_cache_place file_cache_places[];

/* Makes the folder and its parents where they are missing, for the user alone. Changes `path` meanwhile. */
bool file_make_folders(char *path);

/* The whole of a file, and a reference to it as it is now. NULL: it is not there, longer than `most`, empty, or somebody
 * else may write it. The caller frees it. */
void *file_read_own(const char *path, size_t most, size_t *size);

/* Sets the time of the file to now. */
void file_touch(const char *path);

/*
 * Writes a file aside, which is new, and has it replace `path`. 0; or the errno of making it. What cannot be written whole
 * leaves no file and is no error. A limit on the size of files (RLIMIT_FSIZE) ends no process here.
 */
int file_write_own(const char *aside, const char *path, const void *bytes, size_t size);

struct file_facts {
    uint64_t bytes;
    int64_t changed_s; /* as of time() */
    int32_t changed_ns;
};

/* Calls `visit` with each regular file of a folder until it returns false. Links are none. */
void file_list(const char *folder,
               bool (*visit)(void *arg, const char *name, const struct file_facts *facts),
               void *arg);

/* --- locked files --- */

/* A file that says that its process is at work: its lock ends with the process. */
typedef intptr_t file_lock; /* FILE_UNLOCKED: none */
#define FILE_UNLOCKED ((file_lock)-1)

enum file_lock_how {
    FILE_LOCK_ANY,  /* the file is made where it is missing */
    FILE_LOCK_NEW,  /* there must be none */
    FILE_LOCK_LEFT, /* there must be one */
};

enum file_lock_result {
    FILE_LOCK_MINE,   /* from here on */
    FILE_LOCK_OTHERS, /* another process has it, or has just removed the file */
    FILE_LOCK_THERE,  /* FILE_LOCK_NEW: there is such a file */
    FILE_LOCK_NONE    /* the file cannot be made or found, or not be locked */
};

/* Does not wait. With FILE_LOCK_NEW the file is made even where it cannot be locked. */
enum file_lock_result file_lock_try(const char *path, enum file_lock_how how, file_lock *lock);

/* Removes the file and ends the lock. */
void file_lock_remove(const char *path, file_lock *lock);

/* Ends the lock; the file stays. */
void file_lock_leave(file_lock *lock);

#endif
