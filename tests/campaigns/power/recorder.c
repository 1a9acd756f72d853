/* Writes down, in their order, all calls that change files below a folder, for `campaigns.power`.
 *
 * Loaded before libc (LD_PRELOAD), so that SQLite's and DuckDB's calls are seen like Python's. Nothing is
 * recorded until `recorder_begin`. A record is a `struct record` and two texts; the one lock makes the order of
 * the records that of the calls. What it does not know to replay it records as '?', which ends a trial. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 65536

struct record {
    int64_t kind, a, b, first, second;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out = -1;
static char below[PATH_MAX];
static unsigned char followed[FDS];

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t n = REAL(write)(out, at, size);
        if (n < 0) {
            if (errno == EINTR) continue;
            _exit(97);
        }
        at += n, size -= n;
    }
}

static void note(char kind, int64_t a, int64_t b, const void *first, size_t n, const void *second, size_t m) {
    struct record record = {kind, a, b, (int64_t)n, (int64_t)m};
    int error = errno;
    put(&record, sizeof record), put(first, n), put(second, m);
    errno = error;
}

static int is_followed(int fd) { return out >= 0 && fd >= 0 && fd < FDS && followed[fd]; }

/* The whole path of a name; says whether it is below the folder. */
static int place(int dir, const char *name, char *path) {
    char base[PATH_MAX] = "";
    if (out < 0 || !name) return 0;
    if (name[0] != '/') {
        if (dir == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
            ssize_t n = readlink(link, base, sizeof base - 1);
            if (n < 0) return 0;
            base[n] = 0;
        }
        if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
    } else if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX) {
        return 0;
    }
    size_t n = strlen(below);
    return !strncmp(path, below, n) && (path[n] == '/' || !path[n]);
}

void recorder_begin(const char *trace, const char *folder) {
    int fd = REAL(open)(trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    snprintf(below, sizeof below, "%s", folder);
    out = fd;
}

void recorder_mark(const char *text, size_t size) {
    if (out < 0) return;
    pthread_mutex_lock(&lock);
    note('K', 0, 0, text, size, "", 0);
    pthread_mutex_unlock(&lock);
}

/* Lets no call begin any more: the record is whole when the process ends. */
void recorder_end(void) { pthread_mutex_lock(&lock); }

/* Opens under the lock and writes down what was opened. */
static int opened(const char *which, int dir, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    int fd, with_dir = !strncmp(which, "openat", 6);
    int here = place(dir, name, path);
    if (here) pthread_mutex_lock(&lock);
    fd = with_dir ? ((int (*)(int, const char *, int, ...))real(which))(dir, name, flags, mode)
                  : ((int (*)(const char *, int, ...))real(which))(name, flags, mode);
    if (here) {
        if (fd >= FDS) note('?', 0, 0, "descriptors", 11, "", 0);
        if (fd >= 0 && fd < FDS) {
            if ((flags & O_TMPFILE) == O_TMPFILE) note('?', 0, 0, "O_TMPFILE", 9, "", 0);
            followed[fd] = 1, note('O', fd, flags, path, strlen(path), "", 0);
        }
        pthread_mutex_unlock(&lock);
    }
    return fd;
}

#define MODE(flags)                                    \
    mode_t mode = 0;                                   \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) { \
        va_list rest;                                  \
        va_start(rest, flags);                         \
        mode = va_arg(rest, mode_t);                   \
        va_end(rest);                                  \
    }
int open(const char *name, int flags, ...) { MODE(flags) return opened("open", AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return opened("open64", AT_FDCWD, name, flags, mode); }
int openat(int dir, const char *name, int flags, ...) { MODE(flags) return opened("openat", dir, name, flags, mode); }
int openat64(int dir, const char *name, int flags, ...) { MODE(flags) return opened("openat64", dir, name, flags, mode); }
int __open_2(const char *name, int flags) { return opened("open", AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return opened("open64", AT_FDCWD, name, flags, 0); }

int close(int fd) {
    if (!is_followed(fd)) return REAL(close)(fd);
    pthread_mutex_lock(&lock);
    note('C', fd, 0, "", 0, "", 0);
    followed[fd] = 0;
    int done = REAL(close)(fd);
    pthread_mutex_unlock(&lock);
    return done;
}

/* A call on a descriptor: made under the lock if it is followed, then written down if it succeeded. */
#define ON_FD(type, fd, call, record)   \
    if (!is_followed(fd)) return call;  \
    pthread_mutex_lock(&lock);          \
    type done = call;                   \
    if (done >= 0) record;              \
    pthread_mutex_unlock(&lock);        \
    return done;

static int64_t end_of(int fd, ssize_t written) { return lseek(fd, 0, SEEK_CUR) - written; }

ssize_t write(int fd, const void *data, size_t size) {
    ON_FD(ssize_t, fd, REAL(write)(fd, data, size), note('W', fd, end_of(fd, done), data, done, "", 0))
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    ON_FD(ssize_t, fd, REAL(pwrite)(fd, data, size, at), note('W', fd, at, data, done, "", 0))
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    ON_FD(ssize_t, fd, REAL(pwrite64)(fd, data, size, at), note('W', fd, at, data, done, "", 0))
}
int ftruncate(int fd, off_t size) { ON_FD(int, fd, REAL(ftruncate)(fd, size), note('T', fd, size, "", 0, "", 0)) }
int ftruncate64(int fd, off64_t size) { ON_FD(int, fd, REAL(ftruncate64)(fd, size), note('T', fd, size, "", 0, "", 0)) }
int fsync(int fd) { ON_FD(int, fd, REAL(fsync)(fd), note('S', fd, 0, "", 0, "", 0)) }
int fdatasync(int fd) { ON_FD(int, fd, REAL(fdatasync)(fd), note('S', fd, 0, "", 0, "", 0)) }

/* What is not replayed. */
#define UNKNOWN(type, name, fd, arguments, ...)                                                     \
    type name arguments {                                                                           \
        ON_FD(type, fd, REAL(name)(__VA_ARGS__), note('?', 0, 0, #name, sizeof #name - 1, "", 0)) \
    }
UNKNOWN(ssize_t, writev, fd, (int fd, const struct iovec *parts, int n), fd, parts, n)
UNKNOWN(ssize_t, pwritev, fd, (int fd, const struct iovec *parts, int n, off_t at), fd, parts, n, at)
UNKNOWN(ssize_t, pwritev64, fd, (int fd, const struct iovec *parts, int n, off64_t at), fd, parts, n, at)
UNKNOWN(ssize_t, copy_file_range, to, (int from, off64_t *a, int to, off64_t *b, size_t n, unsigned f), from, a, to, b, n, f)
UNKNOWN(int, fallocate, fd, (int fd, int mode, off_t at, off_t n), fd, mode, at, n)
UNKNOWN(int, fallocate64, fd, (int fd, int mode, off64_t at, off64_t n), fd, mode, at, n)
UNKNOWN(int, dup, fd, (int fd), fd)

static int renamed(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    char a[PATH_MAX], b[PATH_MAX];
    int here = place(from_dir, from, a) | place(to_dir, to, b);
    if (!here) return REAL(renameat2)(from_dir, from, to_dir, to, flags);
    pthread_mutex_lock(&lock);
    int done = REAL(renameat2)(from_dir, from, to_dir, to, flags);
    if (!done) note(flags ? '?' : 'R', 0, 0, a, strlen(a), b, strlen(b));
    pthread_mutex_unlock(&lock);
    return done;
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return renamed(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned f) { return renamed(a, from, b, to, f); }

static int in_folder(char kind, int dir, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    int here = place(dir, name, path);
    if (here) pthread_mutex_lock(&lock);
    int done = kind == 'M' ? REAL(mkdirat)(dir, name, mode) : REAL(unlinkat)(dir, name, flags);
    if (here) {
        if (!done) note(kind, 0, 0, path, strlen(path), "", 0);
        pthread_mutex_unlock(&lock);
    }
    return done;
}
int mkdir(const char *name, mode_t mode) { return in_folder('M', AT_FDCWD, name, 0, mode); }
int mkdirat(int dir, const char *name, mode_t mode) { return in_folder('M', dir, name, 0, mode); }
int unlink(const char *name) { return in_folder('U', AT_FDCWD, name, 0, 0); }
int unlinkat(int dir, const char *name, int flags) { return in_folder('U', dir, name, flags, 0); }
int rmdir(const char *name) { return in_folder('U', AT_FDCWD, name, AT_REMOVEDIR, 0); }
int remove(const char *name) {
    struct stat found;
    return lstat(name, &found) || !S_ISDIR(found.st_mode) ? unlink(name) : rmdir(name);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t from) {
    if (is_followed(fd) && (protection & PROT_WRITE) && (flags & MAP_SHARED)) {
        pthread_mutex_lock(&lock);
        note('?', 0, 0, "mmap", 4, "", 0);
        pthread_mutex_unlock(&lock);
    }
    return REAL(mmap)(at, size, protection, flags, fd, from);
}
