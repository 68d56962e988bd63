/*
 * What test.sh runs under the nap library: each mode makes some calls. Mode "calls" prints how many
 * microseconds each call took. A failed check ends the program with a line number and exit code 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "test.c:%d: %s (errno %d)\n", __LINE__, #condition, errno);            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { CALLS = 200, THREADS = 4 };

static int pair[2];

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* One byte there and back, 200 calls. */
static void *exchange(void *ends)
{
    int *fds = ends;
    char byte = 'x';
    for (int call = 0; call < CALLS; call += 2) {
        CHECK(write(fds[0], &byte, 1) == 1);
        CHECK(read(fds[1], &byte, 1) == 1);
    }
    return NULL;
}

static void calls(void)
{
    static long took[CALLS];
    char byte = 'x';
    for (int call = 0; call < CALLS; call++) {
        long start = now();
        if (call % 2 == 0)
            CHECK(write(pair[0], &byte, 1) == 1);
        else
            CHECK(read(pair[1], &byte, 1) == 1);
        took[call] = now() - start;
    }
    for (int call = 0; call < CALLS; call++)
        printf("%d %ld\n", call, took[call]);
}

/* Every function that the library wraps, once or more. */
static void functions(void)
{
    char bytes[4] = "abc";
    struct iovec part = {bytes, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    CHECK(write(pair[0], bytes, 1) == 1 && read(pair[1], bytes, 1) == 1);
    CHECK(writev(pair[0], &part, 1) == 1 && readv(pair[1], &part, 1) == 1);
    CHECK(send(pair[0], bytes, 1, 0) == 1 && recv(pair[1], bytes, 1, 0) == 1);
    CHECK(sendto(pair[0], bytes, 1, 0, NULL, 0) == 1);
    CHECK(recvfrom(pair[1], bytes, 1, 0, NULL, NULL) == 1);
    CHECK(sendmsg(pair[0], &message, 0) == 1 && recvmsg(pair[1], &message, 0) == 1);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0);
    socklen_t length = sizeof address;
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    CHECK(listen(listener, 2) == 0);
    for (int round = 0; round < 2; round++) {
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(connect(client, (struct sockaddr *)&address, length) == 0);
        int accepted = round == 0 ? accept(listener, NULL, NULL)
                                  : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        CHECK(accepted >= 0);
        CHECK(shutdown(client, SHUT_WR) == 0 && read(accepted, bytes, 1) == 0);
        CHECK(close(client) == 0 && close(accepted) == 0);
    }
    CHECK(close(listener) == 0);
}

/* errno is that of the call, and after a call without an error as before it. */
static void keeps_errno(void)
{
    char byte = 'x';
    errno = E2BIG;
    CHECK(write(pair[0], &byte, 1) == 1 && errno == E2BIG);
    CHECK(read(pair[1], &byte, 1) == 1 && errno == E2BIG);
    CHECK(recv(pair[1], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    CHECK(close(-1) == -1 && errno == EBADF);
    int away[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, away) == 0 && close(away[1]) == 0);
    CHECK(send(away[0], &byte, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
}

static int pipe_ends[2];
static volatile sig_atomic_t signals;

static void on_alarm(int signal)
{
    (void)signal;
    int saved = errno;
    signals++;
    ssize_t written = write(pipe_ends[1], "x", 1);
    (void)written;
    errno = saved;
}

/* A handler interrupts every nap, and naps itself. */
static void interrupted(void)
{
    CHECK(pipe2(pipe_ends, O_NONBLOCK) == 0);
    struct sigaction action = {.sa_handler = on_alarm};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval every = {{0, 20000}, {0, 20000}};
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    char byte = 'x';
    for (int round = 0; round < 10; round++) {
        long start = now();
        CHECK(write(pair[0], &byte, 1) == 1);
        CHECK(now() - start >= 1000);
        CHECK(read(pair[1], &byte, 1) == 1);
    }
    CHECK(signals > 0);
}

static void *write_once(void *unused)
{
    (void)unused;
    CHECK(write(pair[0], "x", 1) == 1);
    return NULL;
}

/*
 * A thread naps before a write; meanwhile its descriptor is closed and the number is given to a
 * pipe. The byte goes where the call was meant to go. This mode itself uses system calls: they do
 * not nap.
 */
static void replaced(void)
{
    int next = dup(pair[0]);
    CHECK(next >= 0 && syscall(SYS_close, next) == 0);
    pthread_t writer;
    CHECK(pthread_create(&writer, NULL, write_once, NULL) == 0);
    /* The nap's duplicate has the number that is free next. */
    while (fcntl(next, F_GETFD) == -1)
        usleep(1000);
    int ends[2];
    CHECK(pipe2(ends, O_NONBLOCK) == 0 && dup2(ends[1], pair[0]) == pair[0]);
    CHECK(pthread_join(writer, NULL) == 0);
    char byte;
    CHECK(syscall(SYS_read, ends[0], &byte, 1) == -1 && errno == EAGAIN);
    CHECK(syscall(SYS_read, pair[1], &byte, 1) == 1);
    CHECK(fcntl(next, F_GETFD) == -1);
}

static void threads(void)
{
    pthread_t started[THREADS];
    static int ends[THREADS][2];
    for (int thread = 0; thread < THREADS; thread++) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[thread]) == 0);
        CHECK(pthread_create(&started[thread], NULL, exchange, ends[thread]) == 0);
    }
    for (int thread = 0; thread < THREADS; thread++)
        CHECK(pthread_join(started[thread], NULL) == 0);
}

/* Two children, one after the other. */
static void forks(void)
{
    for (int child = 0; child < 2; child++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            exchange(pair);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

/* Calls on a regular file. */
static void file(void)
{
    int fd = fileno(tmpfile());
    for (int call = 0; call < CALLS; call++)
        CHECK(write(fd, "x", 1) == 1);
    CHECK(close(fd) == 0);
}

static void once(void)
{
    CHECK(write(pair[0], "x", 1) == 1);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"calls", calls},   {"functions", functions}, {"errno", keeps_errno}, {"threads", threads},
        {"interrupted", interrupted}, {"forks", forks}, {"file", file}, {"once", once},
        {"replaced", replaced},
    };
    CHECK(count == 2 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (size_t mode = 0; mode < sizeof modes / sizeof modes[0]; mode++)
        if (strcmp(modes[mode].name, arguments[1]) == 0) {
            modes[mode].run();
            return 0;
        }
    fprintf(stderr, "no mode %s\n", arguments[1]);
    return 1;
}
