/* Makes calls to the system fail, for tests: loaded with LD_PRELOAD, ruled by a mapped file (io_kit.py).
 *
 * A rule names kinds of calls and a pattern of absolute paths. Its calls are counted; those from `first` to
 * `last` return `error`. HALF: the first write that is hit writes half, and says so, as a disk does that fills up.
 * DROP: what was written to the file since its last good sync is undone when a sync fails, as where the kernel
 * has given up dirty pages: whoever only syncs again has lost them. Mapped pages are not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, TRUNCATE = 4, RENAME = 8, CREATE = 16, READ = 32, OPEN = 64 };
enum { HALF = 1, DROP = 2 };
enum { RULES = 8, UNDONE_MAX = 8192 };

struct rule {
    uint32_t kinds; /* 0: no rule */
    int32_t error;
    uint32_t how, unused;
    int64_t first, last, seen, hits;
    char pattern[208];
};
struct undone {
    dev_t device;
    ino_t inode;
    off_t at;
    size_t length;
    char *before;
};

static struct rule *rules;
static struct undone undone[UNDONE_MAX];
static int undone_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(type, name, ...)                       \
    static type (*real)(__VA_ARGS__);               \
    if (!real) real = dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("IO_SHIM_RULES");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *found = mmap(NULL, RULES * sizeof(struct rule), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (found != MAP_FAILED) rules = found;
}

static int is_armed(int kind) {
    for (int i = 0; rules && i < RULES; i++)
        if (__atomic_load_n(&rules[i].kinds, __ATOMIC_ACQUIRE) & kind) return 1;
    return 0;
}

/* The rule that lets this call fail; its path has been made absolute. */
static struct rule *hit(int kind, const char *path) {
    for (int i = 0; i < RULES; i++) {
        struct rule *one = &rules[i];
        if (!(__atomic_load_n(&one->kinds, __ATOMIC_ACQUIRE) & kind) || fnmatch(one->pattern, path, 0)) continue;
        int64_t seen = __atomic_add_fetch(&one->seen, 1, __ATOMIC_RELAXED);
        if (seen < one->first || seen > one->last) continue;
        __atomic_add_fetch(&one->hits, 1, __ATOMIC_RELAXED);
        return one;
    }
    return NULL;
}

static int path_of(int fd, char *path) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0 && path[0] == '/';
}

static struct rule *hit_fd(int kind, int fd) {
    char path[PATH_MAX];
    return is_armed(kind) && path_of(fd, path) ? hit(kind, path) : NULL;
}

static struct rule *hit_at(int kind, int fd, const char *name) {
    char path[2 * PATH_MAX], folder[PATH_MAX];
    if (!is_armed(kind) || !name) return NULL;
    if (name[0] == '/')
        snprintf(path, sizeof path, "%s", name);
    else if (fd == AT_FDCWD ? getcwd(folder, sizeof folder) != NULL : path_of(fd, folder))
        snprintf(path, sizeof path, "%s/%s", folder, name);
    else
        return NULL;
    return hit(kind, path);
}

static int refuse(const struct rule *one) {
    errno = one->error;
    return -1;
}

/* --- what a failed sync loses --------------------------------------------------------------------- */

static int drops(int fd) {
    char path[PATH_MAX];
    if (!rules || !path_of(fd, path)) return 0;
    for (int i = 0; i < RULES; i++)
        if (rules[i].kinds && rules[i].how & DROP && !fnmatch(rules[i].pattern, path, 0)) return 1;
    return 0;
}

/* Keep what a write is about to change; the file may be open for writing only. */
static void keep(int fd, off_t at, size_t length) {
    struct stat found;
    char name[64];
    if (!is_armed(SYNC) || !drops(fd) || fstat(fd, &found)) return;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int reader = open(name, O_RDONLY | O_CLOEXEC);
    pthread_mutex_lock(&lock);
    if (undone_count < UNDONE_MAX) {
        struct undone one = {found.st_dev, found.st_ino, at, length, calloc(1, length)};
        REAL(ssize_t, "pread64", int, void *, size_t, off_t);
        if (reader >= 0 && one.before && real(reader, one.before, length, at) >= 0) undone[undone_count++] = one;
    }
    pthread_mutex_unlock(&lock);
    if (reader >= 0) close(reader);
}

static void settle(int fd, int is_lost) {
    struct stat found;
    if (fstat(fd, &found)) return;
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    pthread_mutex_lock(&lock);
    for (int i = undone_count - 1; i >= 0; i--) {
        struct undone one = undone[i];
        if (one.device != found.st_dev || one.inode != found.st_ino) continue;
        if (is_lost && one.at < found.st_size) {
            size_t left = (size_t)(found.st_size - one.at);
            if (real(fd, one.before, one.length < left ? one.length : left, one.at) < 0) perror("io_shim");
        }
        free(one.before);
        memmove(&undone[i], &undone[i + 1], (size_t)(--undone_count - i) * sizeof one);
    }
    pthread_mutex_unlock(&lock);
}

/* --- calls ---------------------------------------------------------------------------------------- */

/* How much of a write may be done: all of it, half, or nothing (-1). */
static ssize_t allowed(int fd, size_t length) {
    struct rule *one = hit_fd(WRITE, fd);
    if (!one) return (ssize_t)length;
    if (one->how & HALF && length > 1 && one->hits == 1) return (ssize_t)(length / 2);
    return refuse(one);
}

ssize_t write(int fd, const void *data, size_t length) {
    REAL(ssize_t, "write", int, const void *, size_t);
    ssize_t most = allowed(fd, length);
    if (most > 0) keep(fd, lseek(fd, 0, SEEK_CUR), (size_t)most);
    return most < 0 ? -1 : real(fd, data, (size_t)most);
}

static ssize_t write_at(int fd, const void *data, size_t length, off_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    ssize_t most = allowed(fd, length);
    if (most > 0) keep(fd, at, (size_t)most);
    return most < 0 ? -1 : real(fd, data, (size_t)most, at);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return write_at(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t at) { return write_at(fd, data, length, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    struct rule *one = hit_fd(WRITE, fd);
    return one ? refuse(one) : real(fd, parts, count);
}

ssize_t sendfile64(int out, int in, off_t *at, size_t length) {
    REAL(ssize_t, "sendfile64", int, int, off_t *, size_t);
    struct rule *one = hit_fd(READ, in);
    if (!one) one = hit_fd(WRITE, out);
    return one ? refuse(one) : real(out, in, at, length);
}
ssize_t sendfile(int out, int in, off_t *at, size_t length) { return sendfile64(out, in, at, length); }

int posix_fallocate64(int fd, off_t at, off_t length) { /* it returns its error */
    REAL(int, "posix_fallocate64", int, off_t, off_t);
    struct rule *one = hit_fd(WRITE, fd);
    return one ? one->error : real(fd, at, length);
}
int posix_fallocate(int fd, off_t at, off_t length) { return posix_fallocate64(fd, at, length); }

static int synced(int fd, int done, struct rule *one) {
    if (is_armed(SYNC) && (one ? one->how & DROP : 1)) settle(fd, one != NULL);
    return one ? refuse(one) : done;
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    struct rule *one = hit_fd(SYNC, fd);
    return synced(fd, one ? -1 : real(fd), one);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    struct rule *one = hit_fd(SYNC, fd);
    return synced(fd, one ? -1 : real(fd), one);
}

int ftruncate64(int fd, off_t length) {
    REAL(int, "ftruncate64", int, off_t);
    struct rule *one = hit_fd(TRUNCATE, fd);
    return one ? refuse(one) : real(fd, length);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

ssize_t read(int fd, void *data, size_t length) {
    REAL(ssize_t, "read", int, void *, size_t);
    struct rule *one = hit_fd(READ, fd);
    return one ? refuse(one) : real(fd, data, length);
}
static ssize_t read_at(int fd, void *data, size_t length, off_t at) {
    REAL(ssize_t, "pread64", int, void *, size_t, off_t);
    struct rule *one = hit_fd(READ, fd);
    return one ? refuse(one) : real(fd, data, length, at);
}
ssize_t pread(int fd, void *data, size_t length, off_t at) { return read_at(fd, data, length, at); }
ssize_t pread64(int fd, void *data, size_t length, off_t at) { return read_at(fd, data, length, at); }

static int renamed(int old_fd, const char *old, int new_fd, const char *new) {
    struct rule *one = hit_at(RENAME, new_fd, new);
    if (!one) one = hit_at(RENAME, old_fd, old);
    return one ? refuse(one) : 0;
}
int rename(const char *old, const char *new) {
    REAL(int, "rename", const char *, const char *);
    return renamed(AT_FDCWD, old, AT_FDCWD, new) ? -1 : real(old, new);
}
int renameat(int old_fd, const char *old, int new_fd, const char *new) {
    REAL(int, "renameat", int, const char *, int, const char *);
    return renamed(old_fd, old, new_fd, new) ? -1 : real(old_fd, old, new_fd, new);
}
int link(const char *old, const char *new) {
    REAL(int, "link", const char *, const char *);
    return renamed(AT_FDCWD, old, AT_FDCWD, new) ? -1 : real(old, new);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    struct rule *one = hit_at(CREATE, AT_FDCWD, path);
    return one ? refuse(one) : real(path, mode);
}

static struct rule *opened(int fd, const char *path, int flags) {
    struct rule *one = flags & O_CREAT ? hit_at(CREATE, fd, path) : NULL;
    return one ? one : hit_at(OPEN, fd, path);
}
static mode_t mode_in(int flags, va_list more) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; }

#define OPENING(name)                                                \
    int name(const char *path, int flags, ...) {                     \
        REAL(int, #name, const char *, int, ...);                    \
        va_list more;                                                \
        va_start(more, flags);                                       \
        mode_t mode = mode_in(flags, more);                          \
        va_end(more);                                                \
        struct rule *one = opened(AT_FDCWD, path, flags);            \
        return one ? refuse(one) : real(path, flags, mode);          \
    }
#define OPENING_AT(name)                                             \
    int name(int fd, const char *path, int flags, ...) {             \
        REAL(int, #name, int, const char *, int, ...);               \
        va_list more;                                                \
        va_start(more, flags);                                       \
        mode_t mode = mode_in(flags, more);                          \
        va_end(more);                                                \
        struct rule *one = opened(fd, path, flags);                  \
        return one ? refuse(one) : real(fd, path, flags, mode);      \
    }
OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)
