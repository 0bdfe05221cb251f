// The whole test framework. A test is a program: CHECK stops it with the place
// and the condition, CHECK_OK shows an error's text too, SKIP says why and ends
// with code 77, which ctest counts as skipped.
#ifndef HEDDLE_TESTS_CHECK_H
#define HEDDLE_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                 \
    do {                                                                 \
        if (!(condition)) {                                              \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, \
                    #condition);                                         \
            exit(1);                                                     \
        }                                                                \
    } while (0)

// `call` takes &error; it must succeed.
#define CHECK_OK(call, error)                                                 \
    do {                                                                      \
        hd_status check_status_ = (call);                                     \
        if (check_status_ != HD_OK) {                                         \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, \
                    hd_status_text(check_status_), (error).text);             \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

// `call` takes &error; it must fail with `status` and a text with `part` in it.
#define CHECK_FAILS(call, expected, error, part)                              \
    do {                                                                      \
        (error).text[0] = '\0';                                               \
        hd_status check_status_ = (call);                                     \
        if (check_status_ != (expected) || !strstr((error).text, part)) {     \
            fprintf(stderr,                                                   \
                    "%s:%d: %s: got '%s', '%s'; wanted '%s', "                \
                    "'%s'\n",                                                 \
                    __FILE__, __LINE__, #call, hd_status_text(check_status_), \
                    (error).text, hd_status_text(expected), part);            \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define SKIP(reason) (printf("skipped: %s\n", reason), exit(77))

// True where a part of Heddle was not built. That which was built and refuses
// what the test asks for has failed.
#define IS_UNBUILT(status, error) \
    ((status) == HD_ENOTSUP && strstr((error).text, "this build"))
#define SKIP_UNBUILT(status, error)    \
    do {                               \
        if (IS_UNBUILT(status, error)) \
            SKIP((error).text);        \
    } while (0)

// ThreadSanitizer holds signals back until a kernel ends.
#if defined(__SANITIZE_THREAD__)
#define HOLDS_SIGNALS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDS_SIGNALS 1
#endif
#endif
#ifndef HOLDS_SIGNALS
#define HOLDS_SIGNALS 0
#endif

#endif
