/* Preloaded into a program under test: fails the k-th write, sync, truncation or rename of the files whose path contains
   FAULT_PATH. Variables: FAULT_AT (k, from 1; 0 counts only), FAULT_KIND (eio, enospc, short), FAULT_FOREVER (1: every
   later call fails too), FAULT_COUNT (file that receives the number of calls at the end). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long fail_at;
static int is_short, forever, fault_errno;
static const char *part;

__attribute__((constructor)) static void read_settings(void) {
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *again = getenv("FAULT_FOREVER");
  part = getenv("FAULT_PATH");
  fail_at = at ? atol(at) : 0;
  is_short = kind && strcmp(kind, "short") == 0;
  fault_errno = kind && strcmp(kind, "enospc") == 0 ? ENOSPC : EIO;
  forever = again && strcmp(again, "1") == 0;
}

__attribute__((destructor)) static void write_count(void) {
  const char *path = getenv("FAULT_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld", atomic_load(&calls));
  fclose(file);
}

/* Whether the call on this path is to fail. */
static int is_due(const char *path) {
  if (!part || !path || !strstr(path, part)) return 0;
  long number = atomic_fetch_add(&calls, 1) + 1;
  return fail_at > 0 && (number == fail_at || (forever && number > fail_at));
}

static int is_due_fd(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_due(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL() return errno = fault_errno, -1

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!is_due_fd(fd)) return REAL(write)(fd, bytes, length);
  if (is_short && length > 1) return REAL(write)(fd, bytes, length / 2);
  FAIL();
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  if (!is_due_fd(fd)) return REAL(pwrite)(fd, bytes, length, offset);
  if (is_short && length > 1) return REAL(pwrite)(fd, bytes, length / 2, offset);
  FAIL();
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  if (!is_due_fd(fd)) return REAL(pwrite64)(fd, bytes, length, offset);
  if (is_short && length > 1) return REAL(pwrite64)(fd, bytes, length / 2, offset);
  FAIL();
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (!is_due_fd(fd)) return REAL(writev)(fd, parts, count);
  if (is_short && parts[0].iov_len > 1) return REAL(write)(fd, parts[0].iov_base, parts[0].iov_len / 2);
  FAIL();
}

int fsync(int fd) {
  if (!is_due_fd(fd)) return REAL(fsync)(fd);
  FAIL();
}

int fdatasync(int fd) {
  if (!is_due_fd(fd)) return REAL(fdatasync)(fd);
  FAIL();
}

int ftruncate(int fd, off_t length) {
  if (!is_due_fd(fd)) return REAL(ftruncate)(fd, length);
  FAIL();
}

int ftruncate64(int fd, off64_t length) {
  if (!is_due_fd(fd)) return REAL(ftruncate64)(fd, length);
  FAIL();
}

int posix_fallocate(int fd, off_t offset, off_t length) {
  if (!is_due_fd(fd)) return REAL(posix_fallocate)(fd, offset, length);
  return fault_errno;
}

int rename(const char *from, const char *to) {
  if (!is_due(to)) return REAL(rename)(from, to);
  FAIL();
}
