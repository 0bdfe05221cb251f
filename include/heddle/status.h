// Status codes and error texts: the one error type of Heddle.
#ifndef HEDDLE_STATUS_H
#define HEDDLE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

// Every public function is marked with it; all other symbols are hidden.
#define HD_API __attribute__((visibility("default")))

// name, text. Add at the end; the values are ABI.
#define HD_STATUS_MAP(X)                                     \
    X(OK, "success")                                         \
    X(EINVAL, "invalid argument")                            \
    X(ENOMEM, "out of memory")                               \
    X(ENODEV, "no such device")                              \
    X(ENOTSUP, "not supported by this build or backend")     \
    X(ENOENT, "no such name or file")                        \
    X(EIO, "a file could not be read or written")            \
    X(EFORMAT, "damaged or foreign data")                    \
    X(EBUILD, "kernel build failed")                         \
    X(EPROGRAM, "graph program failed")                      \
    X(EGRAPH, "the graph is not valid")                      \
    X(ELIMIT, "a limit was exceeded")                        \
    X(EFAULT, "a kernel touched memory that is not its own") \
    X(ETIMEOUT, "not finished in time")                      \
    X(ECANCELED, "cancelled")                                \
    X(EPEER, "another compute node failed")                  \
    X(ECHECK, "a kernel that was checked is wrong")

/// How a function ended; 0 is success. hd_status_text() puts it into words.
typedef enum hd_status {
#define X(name, text) HD_##name,
    HD_STATUS_MAP(X)
#undef X
} hd_status;

/// Return a lower-case sentence for `status`, never NULL.
///
/// Owner:   static storage, do not free
/// Threads: any
HD_API const char *hd_status_text(hd_status status);

enum {
    HD_ERROR_TEXT = 4096 // [bytes], with the final 0
};

/// What went wrong, where, and what to do about it.
///
/// Functions that can fail in a way a person must read about take a pointer to
/// one as their last argument. NULL is allowed: the text then goes to the log.
/// It is written on failure only. A text that is too long (a compiler's many
/// complaints) is cut at a line end and says so.
struct hd_error {
    hd_status status;
    char text[HD_ERROR_TEXT];
};

#ifdef __cplusplus
}
#endif

#endif
