/* Runs in the target's descendants that are no Python, before their main: asks the session whether it is to join.
 *
 * Loaded by LD_PRELOAD while all children are followed (target/joiner.py compiles it). A Python asks by itself, in
 * dualdbg_follow.py. Whoever cannot reach the session runs on without a debugger.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

extern int Py_BytesMain(int, char **) __attribute__((weak));

/* The address of the session's port and what it is to be told, as "port session_pid name_tracer token". */
static const char *const variable = "DUALDBG_JOIN";

static void ask(int connection, const char *token) {
    char hello[256], answer;
    int length = snprintf(hello, sizeof hello,
                          "{\"token\": \"%s\", \"pid\": %d, \"parent\": %d, \"kind\": \"exec\", \"work\": \"\", "
                          "\"python\": \"\", \"command\": [], \"cwd\": \"\"}\n",
                          token, getpid(), getppid());
    ssize_t done;
    for (int sent = 0; sent < length; sent += done) {
        done = send(connection, hello + sent, length - sent, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) {
            done = 0;
        } else if (done < 0) {
            return;
        }
    }
    do { /* until it hangs up: this process is held, or is not wanted */
        done = recv(connection, &answer, 1, 0);
    } while (done > 0 || (done < 0 && errno == EINTR));
}

__attribute__((constructor)) static void join(void) {
    const char *where = getenv(variable);
    int port, session, name_tracer, saved = errno;
    char token[65];
    if (where == NULL || Py_BytesMain != NULL ||
        sscanf(where, "%d %d %d %64s", &port, &session, &name_tracer, token) != 4) {
        return;
    }
    if (name_tracer) { /* Yama's scope 1: children do not inherit whom their parent has named */
        prctl(PR_SET_PTRACER, session, 0, 0, 0);
    }
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) {
            ask(connection, token);
        }
        close(connection);
    }
    errno = saved;
}
