/* Runs in the target's descendants that are no Python, before their main: asks the session whether it is to join.
 *
 * Loaded by LD_PRELOAD while all children are followed (target/joiner.py compiles it). A Python asks by itself, in
 * dualdbg_follow.py. Whoever cannot reach the session runs on without a debugger.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern int Py_BytesMain(int, char **) __attribute__((weak));

/* What to tell the session and where it listens, as "session_pid name_tracer user token path". */
static const char *const variable = "DUALDBG_JOIN";

static void ask(int connection, const char *token) {
    char hello[256], answer;
    int length = snprintf(hello, sizeof hello,
                          "{\"token\": \"%s\", \"kind\": \"exec\", \"work\": \"\", \"python\": \"\"}\n", token);
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

/* The session's folder may be gone, and another user's be there by that name. */
static int is_of(int connection, unsigned user) {
    struct ucred listener;
    socklen_t size = sizeof listener;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &listener, &size) == 0 && listener.uid == user;
}

__attribute__((constructor)) static void join(void) {
    const char *where = getenv(variable);
    int session, name_tracer, begin = 0, saved = errno;
    unsigned user;
    char token[65];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (where == NULL || Py_BytesMain != NULL ||
        sscanf(where, "%d %d %u %64s %n", &session, &name_tracer, &user, token, &begin) != 4 || begin == 0 ||
        strlen(where + begin) >= sizeof address.sun_path) {
        return;
    }
    strcpy(address.sun_path, where + begin);
    if (name_tracer) { /* Yama's scope 1: children do not inherit whom their parent has named */
        prctl(PR_SET_PTRACER, session, 0, 0, 0);
    }
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0) {
        if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0 && is_of(connection, user)) {
            ask(connection, token);
        }
        close(connection);
    }
    errno = saved;
}
