/* Runs in gdb, before 14 and on processors with AMX: completes its writes of vector registers.
 *
 * Those gdbs keep the state of the registers in a buffer of fixed size, which AMX's tiles exceed, and Linux takes only
 * the whole state (xstateregs_set in arch/x86/kernel/fpu/regset.c: EFAULT). So the part that gdb has is laid over the
 * front of the whole, which is read anew, and all of it is written. Nothing else that gdb asks of ptrace is changed.
 * Loaded by LD_PRELOAD; target/whole_state.py says where.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*ptrace_function)(int, pid_t, void *, void *);

static long write_whole(ptrace_function next, pid_t thread, void *kind, const struct iovec *part) {
    static char state[1 << 17]; /* 11008 bytes with AMX; of one thread of gdb, as ptrace(2) demands */
    struct iovec whole = {.iov_base = state, .iov_len = sizeof state};
    if (next(PTRACE_GETREGSET, thread, kind, &whole) < 0) {
        return -1;
    }
    if (whole.iov_len <= part->iov_len || whole.iov_len == sizeof state) {
        errno = EFAULT; /* its size was not what was wrong */
        return -1;
    }
    memcpy(state, part->iov_base, part->iov_len);
    return next(PTRACE_SETREGSET, thread, kind, &whole);
}

long ptrace(int request, ...) {
    static ptrace_function next;
    if (next == NULL) {
        next = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
    }
    va_list arguments;
    va_start(arguments, request);
    pid_t thread = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);
    long result = next(request, thread, address, data);
    if (result < 0 && errno == EFAULT && request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
        return write_whole(next, thread, address, data);
    }
    return result;
}
