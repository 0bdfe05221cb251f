// Build options: those of OpenCL 1.2 that cannot make the compiler read or load
// anything but header files.
#ifndef HDI_KERNEL_PROGRAM_OPTIONS_H
#define HDI_KERNEL_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "heddle/status.h"

// The number of a specialisation constant of SPIR-V, '=' and its value follow.
#define HDI_SPEC_OPTION "-heddle-spec="

// Owned by who parsed; hdi_options_free() leaves it empty. Empty it may be
// freed again.
struct hdi_options {
    char *text;         // holds the words
    const char **words; // one option each, "-D N" joined to "-DN"; NULL ends
    size_t count;
};

// Split and check `text`, which may be NULL. Words are separated by blanks;
// double quotes keep blanks in a word. HD_EINVAL names the option, HD_ENOMEM.
hd_status hdi_options_parse(const char *text, struct hdi_options *options,
                            struct hd_error *error);
void hdi_options_free(struct hdi_options *options);

// The text behind the prefix was checked by hdi_options_parse().
static inline bool hdi_is_specialisation(const char *option)
{
    return strncmp(option, HDI_SPEC_OPTION, strlen(HDI_SPEC_OPTION)) == 0;
}

#endif
