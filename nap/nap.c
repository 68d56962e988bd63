/*
 * A library to preload (LD_PRELOAD): the process sleeps by chance before it uses a socket, a pipe
 * or an eventfd. A test or a program that relies on time instead of an event then fails.
 * README.md has the settings and the limits.
 *
 * Rules of this file, because the wrapped functions run in signal handlers, in the child of a
 * vfork and before any constructor:
 * - no lock, no allocation, no stdio after the start; only system calls;
 * - no call of a wrapped function: it would recurse;
 * - errno is after a nap as it was before.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct range {
    uint64_t low, high;
};

/* One call of so many has a short nap, one of so many a long one. */
static const struct range SHORT_ONE_IN = {60, 300};
static const struct range LONG_ONE_IN = {4000, 20000};
/* How long naps are, in microseconds. */
static const struct range SHORT_TIME = {1000, 60000};
static const struct range LONG_TIME = {1000000, 4000000};

/* The number of counters in the file NAP_COUNTS. */
enum { COUNTERS = 1024 };

/* What `start` has decided about this process. */
enum state {
    UNKNOWN,
    STARTING,
    NAPPING,
    AWAKE,
};

static int state = UNKNOWN;
/* The program's name. */
static char program[64];
/* The file NAP_LOG; empty if there is none. */
static char log_file[4096];
/* The ranges from which `begin_sequence` chooses. */
static struct range short_range, long_range;
/* From this number and a call's number follows the call's nap. */
static uint64_t sequence;
/* The process naps in one call of so many; 0: never. */
static uint64_t short_one_in, long_one_in;
/* The calls so far. */
static uint64_t calls;
/* The forks so far, and the number of the fork that this thread is about to do. */
static uint64_t forks;
static __thread uint64_t this_fork __attribute__((tls_model("initial-exec")));

/* splitmix64 by Sebastiano Vigna: 64 bits that look random, from any number. */
static uint64_t mix(uint64_t number)
{
    number += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

static uint64_t mix_text(uint64_t number, const char *text)
{
    for (; *text != '\0'; text++)
        number = mix(number ^ (unsigned char)*text);
    return number;
}

/* A number in the range. */
static uint64_t choose(uint64_t random, struct range range)
{
    return range.low + random % (range.high - range.low + 1);
}

/* Parses digits and moves `text` behind them. */
static uint64_t parse_number(const char **text)
{
    uint64_t number = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        number = number * 10 + (uint64_t)(**text - '0');
    return number;
}

/* Parses "60-300" or "60"; anything else is `otherwise`. */
static struct range parse_range(const char *text, struct range otherwise)
{
    if (text == NULL || *text == '\0')
        return otherwise;
    struct range range;
    range.low = range.high = parse_number(&text);
    if (*text == '-') {
        text++;
        range.high = parse_number(&text);
    }
    return *text == '\0' && range.low <= range.high ? range : otherwise;
}

/* True if `name` is in a list whose items have commas between them. */
static int is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (list != NULL && *list != '\0') {
        const char *end = strchrnul(list, ',');
        if ((size_t)(end - list) == length && memcmp(list, name, length) == 0)
            return 1;
        list = *end == ',' ? end + 1 : end;
    }
    return 0;
}

/*
 * Copies the program's name. Cargo appends a hash of 16 digits to a test's name. The copy does not
 * have it, because it differs from build to build.
 */
static void copy_program(const char *name)
{
    size_t length = strnlen(name, sizeof program - 1);
    if (length > 17 && name[length - 17] == '-' &&
        strspn(name + length - 16, "0123456789abcdef") == 16)
        length -= 17;
    memcpy(program, name, length);
    program[length] = '\0';
}

/*
 * Programs that never nap: a browser, whose many processes would only be slow, and shells, which
 * read pipes byte by byte.
 */
static int is_excluded(const char *name)
{
    return strncmp(name, "chrom", 5) == 0 || strcmp(name, "headless_shell") == 0 ||
           is_listed("sh,dash,bash", name);
}

/*
 * How many processes of this program have started before this one: counted in the file NAP_COUNTS,
 * which all processes of a test run share. 0 without it.
 */
static uint64_t count_process(const char *file)
{
    if (file == NULL || *file == '\0')
        return 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return 0;
    uint64_t before = 0;
    size_t size = COUNTERS * sizeof(uint64_t);
    if (ftruncate(fd, (off_t)size) == 0) {
        void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            uint64_t *counter = (uint64_t *)map + mix_text(0, program) % COUNTERS;
            before = __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
            munmap(map, size);
        }
    }
    syscall(SYS_close, fd);
    return before;
}

/* Begins a sequence of naps. */
static void begin_sequence(uint64_t number)
{
    sequence = number;
    short_one_in = choose(mix(number ^ 1), short_range);
    long_one_in = choose(mix(number ^ 2), long_range);
    __atomic_store_n(&calls, 0, __ATOMIC_RELAXED);
}

static int is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' && strcmp(value, "0") != 0;
}

/* Reads the environment; returns the state that follows from it. */
static enum state read_settings(void)
{
    copy_program(program_invocation_short_name);
    const char *only = getenv("NAP_ONLY");
    int is_meant = only == NULL || *only == '\0' ? !is_excluded(program) : is_listed(only, program);
    if (is_set("NAP_OFF") || !is_meant)
        return AWAKE;
    uint64_t seed;
    const char *text = getenv("NAP_SEED");
    if (text != NULL && *text != '\0') {
        seed = parse_number(&text);
    } else {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    }
    const char *file = getenv("NAP_LOG");
    if (file != NULL && strlen(file) < sizeof log_file)
        strcpy(log_file, file);
    short_range = parse_range(getenv("NAP_SHORT"), SHORT_ONE_IN);
    long_range = parse_range(getenv("NAP_LONG"), LONG_ONE_IN);
    begin_sequence(mix(mix_text(mix(seed), program) ^ count_process(getenv("NAP_COUNTS"))));
    return NAPPING;
}

/*
 * Decides whether this process naps. The first call of a wrapped function may come here, before the
 * constructor does. While one thread is here the others do not nap; nobody waits.
 */
static void start(void)
{
    /* So early that the C library has set neither: a later call tries again. */
    if (environ == NULL || program_invocation_short_name == NULL ||
        *program_invocation_short_name == '\0')
        return;
    int before = UNKNOWN;
    if (!__atomic_compare_exchange_n(&state, &before, STARTING, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    int saved = errno;
    enum state after = read_settings();
    errno = saved;
    __atomic_store_n(&state, after, __ATOMIC_RELEASE);
}

/* Appends to a line that has room. */
static char *append_text(char *end, const char *text)
{
    size_t length = strlen(text);
    memcpy(end, text, length);
    return end + length;
}

static char *append_number(char *end, uint64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *end++ = digits[--count];
    return end;
}

/* Appends a nap to the file NAP_LOG. */
static void log_nap(uint64_t call, const char *function, int fd, uint64_t micros)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char line[512];
    char *end = append_number(line, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
    end = append_text(append_text(end, " "), program);
    end = append_number(append_text(end, " pid "), (uint64_t)getpid());
    end = append_number(append_text(end, " thread "), (uint64_t)syscall(SYS_gettid));
    end = append_number(append_text(end, " call "), call);
    end = append_text(append_text(end, " "), function);
    end = append_number(append_text(end, " fd "), (uint64_t)fd);
    end = append_number(append_text(end, " us "), micros);
    *end++ = '\n';
    int log = (int)syscall(SYS_openat, AT_FDCWD, log_file,
                           O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log < 0)
        return;
    syscall(SYS_write, log, line, (size_t)(end - line));
    syscall(SYS_close, log);
}

/* True for a socket, a pipe, and what has no file type: an eventfd, which wakes another thread. */
static int connects(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return 0;
    mode_t type = status.st_mode & S_IFMT;
    return type == S_IFSOCK || type == S_IFIFO || type == 0;
}

static void sleep_for(uint64_t micros)
{
    /* The kernel's type: this system call has 64 bits for the seconds on 64-bit machines. */
    struct timespec rest = {(time_t)(micros / 1000000), (long)(micros % 1000000 * 1000)};
    while (syscall(SYS_nanosleep, &rest, &rest) != 0 && errno == EINTR)
        ;
}

/*
 * Sleeps if this call's number says so. Returns a duplicate of `fd`, to be used and then released, or
 * -1 if there was no nap. Without the duplicate another thread could close `fd` during the nap, the
 * number could get another file, and the call would go there. Inside the kernel a call keeps its file
 * too. `close` must have the number itself, so it naps without a duplicate.
 */
static int nap(const char *function, int fd, int keeps_file)
{
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now == UNKNOWN) {
        start();
        now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    }
    if (now != NAPPING)
        return -1;
    /* Calls on other files count as well, so that only a call that may nap pays for fstat. */
    uint64_t call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    uint64_t random = mix(sequence + call * 0x9e3779b97f4a7c15u);
    struct range time;
    if (long_one_in != 0 && (random >> 32) % long_one_in == 0)
        time = LONG_TIME;
    else if (short_one_in != 0 && (uint32_t)random % short_one_in == 0)
        time = SHORT_TIME;
    else
        return -1;
    int saved = errno;
    int held = -1;
    /* A process that has no descriptor left does not nap. */
    if (connects(fd) &&
        (!keeps_file || (held = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3)) >= 0)) {
        uint64_t micros = choose(mix(random), time);
        if (log_file[0] != '\0')
            log_nap(call, function, fd, micros);
        sleep_for(micros);
    }
    errno = saved;
    return held;
}

static void release(int held)
{
    int saved = errno;
    syscall(SYS_close, held);
    errno = saved;
}

/*
 * Defines a function that naps and then calls the next library's. Before the constructor has looked
 * that up it makes the system call itself: to look up is too much for a signal handler.
 */
#define WRAP(result, name, parameters, arguments, direct)                                          \
    static result(*next_##name) parameters;                                                        \
    result name parameters;                                                                        \
    result name parameters                                                                         \
    {                                                                                              \
        int held = nap(#name, fd, 1);                                                              \
        if (held >= 0)                                                                             \
            fd = held;                                                                             \
        result(*next) parameters = __atomic_load_n(&next_##name, __ATOMIC_ACQUIRE);                \
        result done = next != NULL ? next arguments : (result)direct;                              \
        if (held >= 0)                                                                             \
            release(held);                                                                         \
        return done;                                                                               \
    }

WRAP(ssize_t, read, (int fd, void *buffer, size_t size), (fd, buffer, size),
     syscall(SYS_read, fd, buffer, size))
WRAP(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count),
     syscall(SYS_readv, fd, parts, count))
WRAP(ssize_t, write, (int fd, const void *buffer, size_t size), (fd, buffer, size),
     syscall(SYS_write, fd, buffer, size))
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count),
     syscall(SYS_writev, fd, parts, count))
WRAP(ssize_t, send, (int fd, const void *buffer, size_t size, int flags),
     (fd, buffer, size, flags), syscall(SYS_sendto, fd, buffer, size, flags, NULL, 0))
WRAP(ssize_t, sendto,
     (int fd, const void *buffer, size_t size, int flags, __CONST_SOCKADDR_ARG address,
      socklen_t length),
     (fd, buffer, size, flags, address, length),
     syscall(SYS_sendto, fd, buffer, size, flags, address.__sockaddr__, length))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
     syscall(SYS_sendmsg, fd, message, flags))
WRAP(ssize_t, recv, (int fd, void *buffer, size_t size, int flags), (fd, buffer, size, flags),
     syscall(SYS_recvfrom, fd, buffer, size, flags, NULL, NULL))
WRAP(ssize_t, recvfrom,
     (int fd, void *buffer, size_t size, int flags, __SOCKADDR_ARG address, socklen_t *length),
     (fd, buffer, size, flags, address, length),
     syscall(SYS_recvfrom, fd, buffer, size, flags, address.__sockaddr__, length))
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
     syscall(SYS_recvmsg, fd, message, flags))
WRAP(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t length),
     (fd, address, length), syscall(SYS_connect, fd, address.__sockaddr__, length))
WRAP(int, accept, (int fd, __SOCKADDR_ARG address, socklen_t *length), (fd, address, length),
     syscall(SYS_accept4, fd, address.__sockaddr__, length, 0))
WRAP(int, accept4, (int fd, __SOCKADDR_ARG address, socklen_t *length, int flags),
     (fd, address, length, flags), syscall(SYS_accept4, fd, address.__sockaddr__, length, flags))
WRAP(int, shutdown, (int fd, int how), (fd, how), syscall(SYS_shutdown, fd, how))

static int (*next_close)(int fd);
int close(int fd)
{
    nap("close", fd, 0);
    int (*next)(int fd) = __atomic_load_n(&next_close, __ATOMIC_ACQUIRE);
    return next != NULL ? next(fd) : (int)syscall(SYS_close, fd);
}

/* What programs built with _FORTIFY_SOURCE call instead of read and recv. */
WRAP(ssize_t, __read_chk, (int fd, void *buffer, size_t size, size_t room),
     (fd, buffer, size, room), (size > room ? abort() : (void)0, syscall(SYS_read, fd, buffer, size)))
WRAP(ssize_t, __recv_chk, (int fd, void *buffer, size_t size, size_t room, int flags),
     (fd, buffer, size, room, flags),
     (size > room ? abort() : (void)0, syscall(SYS_recvfrom, fd, buffer, size, flags, NULL, NULL)))

/* The child of a fork has a sequence of its own, which follows from the parent's. */
static void before_fork(void)
{
    this_fork = __atomic_add_fetch(&forks, 1, __ATOMIC_RELAXED);
}

static void in_child(void)
{
    forks = 0;
    /* The thread that was at it is not in the child. */
    if (state == STARTING)
        state = UNKNOWN;
    if (state == NAPPING)
        begin_sequence(mix(sequence ^ this_fork));
}

#define LOOK_UP(name)                                                                              \
    do {                                                                                           \
        void *found = dlsym(RTLD_NEXT, #name);                                                     \
        __atomic_store_n((void **)&next_##name, found, __ATOMIC_RELEASE);                          \
    } while (0)

__attribute__((constructor)) static void load(void)
{
    int saved = errno;
    LOOK_UP(read);
    LOOK_UP(readv);
    LOOK_UP(write);
    LOOK_UP(writev);
    LOOK_UP(send);
    LOOK_UP(sendto);
    LOOK_UP(sendmsg);
    LOOK_UP(recv);
    LOOK_UP(recvfrom);
    LOOK_UP(recvmsg);
    LOOK_UP(connect);
    LOOK_UP(accept);
    LOOK_UP(accept4);
    LOOK_UP(shutdown);
    LOOK_UP(close);
    LOOK_UP(__read_chk);
    LOOK_UP(__recv_chk);
    pthread_atfork(before_fork, NULL, in_child);
    errno = saved;
    start();
}
