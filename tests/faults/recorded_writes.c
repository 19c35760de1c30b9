/* What a process changes below one folder, as a list of changes in their order, and a power cut at a chosen one.

   LD_PRELOAD this into a process and call power_begin(root, record, control). From then on every change below
   root is made as usual and appended to the file record; a sync is only noted, at its beginning and at its end.
   The file control is shared with whoever chooses the moment of the cut (struct Control): the process kills
   itself there. What of the changes a real disk would have kept is decided afterwards, by recorded_disk.py.

   Not seen: writes of the C library's own streams (fopen) and through a writable mapping. SQLite's index of its
   write-ahead log is such a mapping; SQLite makes it anew after a crash. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct Control {
    uint64_t count;      /* changes so far */
    uint64_t cut_at;     /* the change behind which the process ends; 0: none */
    uint32_t delay_us;   /* a sync takes up to so long */
    uint32_t more;       /* with a pattern: so many changes behind the first one that matches */
    char pattern[112];   /* part of a path; empty: none */
};

struct Head {            /* of a record in the list; two texts or bytes follow it */
    uint64_t number;     /* inode, or number of a sync */
    uint64_t offset;
    uint32_t kind;
    uint32_t first;      /* lengths of what follows */
    uint32_t second;
    uint32_t zero;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int record = -1;
static struct Control *control;
static uint64_t syncs;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

int power_begin(const char *folder, const char *to, const char *shared) {
    strncpy(root, folder, sizeof root - 1);
    int fd = open(shared, O_RDWR | O_CLOEXEC);
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    fd = open(to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    record = fcntl(fd, F_DUPFD_CLOEXEC, 400);
    close(fd);
    root_length = strlen(root);
    return control == MAP_FAILED || record < 0;
}

static int below(const char *path) {
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The absolute path; 1 if it lies below the root. */
static int path_of(int folder, const char *path, char *found) {
    if (!root_length || !path) return 0;
    if (path[0] == '/') {
        if (strlen(path) >= PATH_MAX) return 0;
        strcpy(found, path);
        return below(found);
    }
    char base[PATH_MAX / 2];
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return 0;
        base[length] = 0;
    }
    snprintf(found, PATH_MAX, "%s/%s", base, path);
    return below(found);
}

/* Under the guard. The path is what a pattern is looked for in. */
static void note(char kind, uint64_t number, uint64_t offset, const void *first, size_t length, const char *second,
                 const char *path) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    struct Head head = {number, offset, (uint32_t)kind, (uint32_t)length, second ? (uint32_t)strlen(second) : 0, 0};
    struct iovec parts[3] = {
        {&head, sizeof head}, {(void *)first, length}, {(void *)second, head.second},
    };
    if (real(record, parts, 3) != (ssize_t)(sizeof head + length + head.second)) abort();
    control->count++;
    if (control->pattern[0] && (strstr(path, control->pattern) || (second && strstr(second, control->pattern)))) {
        control->cut_at = control->count + control->more;
        control->pattern[0] = 0;
    }
    if (control->cut_at && control->count >= control->cut_at) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}

static int is_file(int fd, struct stat *seen, char *path) {
    if (!root_length || fd == record || fstat(fd, seen) || !S_ISREG(seen->st_mode)) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static void wrote(int fd, off_t offset, const void *data, ssize_t length) {
    struct stat seen;
    char path[PATH_MAX];
    if (length > 0 && is_file(fd, &seen, path)) note('w', seen.st_ino, offset, data, length, NULL, path);
}

/* --- files come into being ------------------------------------------------------------------------ */

static int opened(int (*real)(int, const char *, int, ...), int folder, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    if (!(flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE || !path_of(folder, path, full))
        return real(folder, path, flags, mode);
    pthread_mutex_lock(&guard);
    struct stat seen;
    int was_there = !stat(full, &seen);
    int fd = real(folder, path, flags, mode), error = errno;
    if (fd >= 0 && !fstat(fd, &seen) && S_ISREG(seen.st_mode)) {
        if (!was_there) note('c', seen.st_ino, 0, full, strlen(full), NULL, full);
        else if (flags & O_TRUNC) note('t', seen.st_ino, 0, NULL, 0, NULL, full);
    }
    pthread_mutex_unlock(&guard);
    errno = error;
    return fd;
}

#define MODE mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
#define OPEN_REAL static int (*real)(int, const char *, int, ...); \
    if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat64")

int open(const char *path, int flags, ...) { MODE OPEN_REAL; return opened(real, AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE OPEN_REAL; return opened(real, AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE OPEN_REAL; return opened(real, at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE OPEN_REAL; return opened(real, at, path, flags, mode); }

/* --- bytes ---------------------------------------------------------------------------------------- */

ssize_t write(int fd, const void *data, size_t length) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (!root_length || fd == record) return real(fd, data, length);
    pthread_mutex_lock(&guard);
    ssize_t done = real(fd, data, length);
    int error = errno;
    off_t at = done > 0 ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at >= done && done > 0) wrote(fd, at - done, data, done);
    pthread_mutex_unlock(&guard);
    errno = error;
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ssize_t done = 0;
    for (int number = 0; number < count; number++) {
        ssize_t one = write(fd, parts[number].iov_base, parts[number].iov_len);
        if (one < 0) return done ? done : one;
        done += one;
        if ((size_t)one < parts[number].iov_len) break;
    }
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off_t);
    if (!root_length) return real(fd, data, length, offset);
    pthread_mutex_lock(&guard);
    ssize_t done = real(fd, data, length, offset);
    int error = errno;
    wrote(fd, offset, data, done);
    pthread_mutex_unlock(&guard);
    errno = error;
    return done;
}
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return pwrite(fd, data, length, offset); }

/* Others fall back on reading and writing. */
ssize_t sendfile(int out, int in, off_t *offset, size_t count) { (void)out, (void)in, (void)offset, (void)count; errno = ENOSYS; return -1; }
ssize_t sendfile64(int out, int in, off_t *offset, size_t count) { return sendfile(out, in, offset, count); }
ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t length, unsigned flags) {
    (void)in, (void)from, (void)out, (void)to, (void)length, (void)flags;
    errno = ENOSYS;
    return -1;
}

static int grew(int fd, off_t offset, off_t length, int error) {
    struct stat seen;
    char path[PATH_MAX];
    if (!error && is_file(fd, &seen, path)) note('g', seen.st_ino, offset + length, NULL, 0, NULL, path);
    return error;
}

int posix_fallocate(int fd, off_t offset, off_t length) {
    REAL(int, posix_fallocate64, int, off_t, off_t);
    if (!root_length) return real(fd, offset, length);
    pthread_mutex_lock(&guard);
    int error = grew(fd, offset, length, real(fd, offset, length));
    pthread_mutex_unlock(&guard);
    return error;
}
int posix_fallocate64(int fd, off_t offset, off_t length) { return posix_fallocate(fd, offset, length); }

int ftruncate(int fd, off_t length) {
    REAL(int, ftruncate64, int, off_t);
    if (!root_length) return real(fd, length);
    pthread_mutex_lock(&guard);
    struct stat seen;
    char path[PATH_MAX];
    int done = real(fd, length), error = errno;
    if (!done && is_file(fd, &seen, path)) note('t', seen.st_ino, length, NULL, 0, NULL, path);
    pthread_mutex_unlock(&guard);
    errno = error;
    return done;
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

/* --- names ---------------------------------------------------------------------------------------- */

#define NAMES(kind, folder, path, other_folder, other, call) \
    char full[PATH_MAX], full_other[PATH_MAX] = ""; \
    const char *second = other; \
    int is_ours = path_of(folder, path, full); \
    int is_other_ours = second ? path_of(other_folder, second, full_other) : 0; \
    if (!is_ours && !is_other_ours) return call; \
    pthread_mutex_lock(&guard); \
    int done = call, error = errno; \
    if (!done) note(kind, 0, 0, full, strlen(full), second ? full_other : NULL, full); \
    pthread_mutex_unlock(&guard); \
    errno = error; \
    return done

int rename(const char *old, const char *new) {
    REAL(int, rename, const char *, const char *);
    NAMES('r', AT_FDCWD, old, AT_FDCWD, new, real(old, new));
}
int renameat(int at, const char *old, int to, const char *new) {
    REAL(int, renameat, int, const char *, int, const char *);
    NAMES('r', at, old, to, new, real(at, old, to, new));
}
int link(const char *old, const char *new) {
    REAL(int, link, const char *, const char *);
    NAMES('l', AT_FDCWD, old, AT_FDCWD, new, real(old, new));
}
int linkat(int at, const char *old, int to, const char *new, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    NAMES('l', at, old, to, new, real(at, old, to, new, flags));
}
int unlink(const char *path) {
    REAL(int, unlink, const char *);
    NAMES('u', AT_FDCWD, path, 0, NULL, real(path));
}
int unlinkat(int at, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    NAMES('u', at, path, 0, NULL, real(at, path, flags));
}
int rmdir(const char *path) {
    REAL(int, rmdir, const char *);
    NAMES('u', AT_FDCWD, path, 0, NULL, real(path));
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    NAMES('m', AT_FDCWD, path, 0, NULL, real(path, mode));
}
int mkdirat(int at, const char *path, mode_t mode) {
    REAL(int, mkdirat, int, const char *, mode_t);
    NAMES('m', at, path, 0, NULL, real(at, path, mode));
}

/* --- syncs: noted, not done ----------------------------------------------------------------------- */

static int synced(int fd) {
    struct stat seen;
    char path[PATH_MAX], link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || fstat(fd, &seen)) { errno = EBADF; return -1; }
    path[length] = 0;
    if (!below(path)) return 0;
    pthread_mutex_lock(&guard);
    uint64_t number = ++syncs;
    int is_directory = S_ISDIR(seen.st_mode);
    if (is_directory) note('D', number, 0, path, strlen(path), NULL, path);
    else note('S', number, seen.st_ino, NULL, 0, NULL, path);
    uint32_t most = control->delay_us;
    pthread_mutex_unlock(&guard);
    if (most) usleep((useconds_t)(rand() % most));
    pthread_mutex_lock(&guard);
    note('E', number, 0, NULL, 0, NULL, path);
    pthread_mutex_unlock(&guard);
    return 0;
}
int fsync(int fd) {
    REAL(int, fsync, int);
    return root_length ? synced(fd) : real(fd);
}
int fdatasync(int fd) {
    REAL(int, fdatasync, int);
    return root_length ? synced(fd) : real(fd);
}
