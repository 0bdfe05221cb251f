// What the code of a kernel that was built for checking says while it runs:
// the border between that code and the checker.
//
// A site is one place in the source where memory is touched; sites lie in a
// table in the kernel's image. An object is what a site's pointer was made
// from, as far as the compiler can tell: an argument, a variable, or unknown.
//
// The offsets are ABI, as those of frame.h.
#ifndef HDI_BACKEND_CHECKS_H
#define HDI_BACKEND_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hdi_fault;
struct hdi_item;

enum {
    HDI_ACCESS_READ = 1,
    HDI_ACCESS_WRITE = 2,
    HDI_ACCESS_ATOMIC = 4,
    HDI_ACCESS_COPY = 8 // moves bytes without looking at them
};

enum hdi_object {
    HDI_OBJECT_UNKNOWN,
    HDI_OBJECT_ARG,     // what argument `number` points to
    HDI_OBJECT_PRIVATE, // a variable, which is given with the access
    HDI_OBJECT_LOCAL,   // likewise
    HDI_OBJECT_PROGRAM  // likewise: a variable at program scope
};

// What is wrong with the operands of an integer division.
enum hdi_division {
    HDI_DIVISION_SOUND,
    HDI_DIVISION_BY_ZERO,
    HDI_DIVISION_OF_LEAST // the least number by -1
};

struct hdi_site {
    const char *file;
    const char *name; // of the object; "" when it is unknown
    uint32_t line;
    uint32_t index;  // of this site, in the kernel's table
    uint32_t access; // HDI_ACCESS_*
    uint32_t object; // enum hdi_object
    uint32_t number; // of the argument
    uint32_t reserved;
};

// Where a variable is for one work-item; lies on its stack.
struct hdi_variable {
    char *memory;
    uint64_t size;             // [bytes]
    unsigned char *written;    // per byte: not 0 once it has a value; NULL: not
                               // noted here
    uint64_t constant;         // not 0: it may not be written
    struct hdi_variable *next; // private one of the same work-item
};

// What checked code calls.
struct hdi_checks {
    // A work-item starts.
    void (*start)(struct hdi_item *item);
    // It has a private variable.
    void (*declare)(struct hdi_item *item, struct hdi_variable *variable);
    // It touches memory; returns where to touch instead: the same address, or
    // one that does no harm, or NULL for a copy that must not happen.
    void *(*touch)(struct hdi_item *item, void *address, uint64_t size,
                   const struct hdi_site *site, struct hdi_variable *variable);
    // It read a variable without a value.
    void (*unset)(struct hdi_item *item, const struct hdi_site *site);
    // It has come past a barrier; past one of its sub-group.
    void (*pass)(struct hdi_item *item);
    void (*meet)(struct hdi_item *item);
    // It touches a texel of an image, which is what the kernel was given.
    void (*visit)(struct hdi_item *item, const void *image, int32_t x,
                  int32_t y, int32_t z, int32_t layer,
                  const struct hdi_site *site);
    // It divides integers; `how` is an enum hdi_division.
    void (*divide)(struct hdi_item *item, uint32_t how,
                   const struct hdi_site *site);
};

// Screened code (kernel/compiler/check/screen.h) reads where the tags of an
// object lie, an uint32_t for each of its granules: of the last write, of the
// reads.
struct hdi_screen_object {
    uint64_t size; // [bytes]
    uint32_t *writes, *reads;
};

struct hdi_screen {
    uint32_t now; // tags of the chunk begin above; it is left behind them
    uint32_t reserved;
    struct hdi_screen_object local; // all local memory, one tag per byte
    struct hdi_screen_object args[];
};

// What an argument points to; a structure, itself.
struct hdi_check_arg {
    const char *name;
    char *memory;  // of a local pointer: its offset in local memory
    uint64_t size; // [bytes]
    bool local;
    bool value;
    bool writable; // the kernel may write there
    bool constant; // `__constant`: it may not, whatever it casts
    // What the kernel is given for an image whose texels are in `memory`, and
    // how many it has along x, y, z and of layers: 0 where it has no such axis.
    const void *image;
    int32_t texels[4];
};

enum {
    HDI_SEARCH_PIECE = 4096 // of a copy [bytes]
};

// A copy of memory, each piece of which is made when it is touched first.
struct hdi_search_copy {
    char *to; // NULL: there is none
    const char *from;
    uint64_t size; // [bytes]
    bool *made;    // per piece
};

// A launch that failed runs again in its checked form, on copies of what it may
// write, to find the work-item that it was. Nothing else is looked for. One
// thread runs it.
struct hdi_search {
    const struct hdi_fault *fault;
    const uint64_t *were; // per argument: where its memory began
    struct hdi_search_copy *copies;
    uint32_t copy_count;
    uint64_t left;    // how much more may be copied [bytes]
    bool starved;     // more was to be; what runs sees other values
    bool found;       // then:
    uint64_t item[3]; // global id
    uint32_t group[3];
    uint32_t line; // of the source
    char file[256];
};

// What a launch tells about itself; stays until it is done.
struct hdi_check_launch {
    const char *kernel;
    const struct hdi_check_arg *args; // as many as the kernel has; those that
                                      // point nowhere are empty
    uint32_t arg_count;
    bool has_images;           // then a pointer of unknown origin may be one's
    bool screens;              // the code is screened, and looks for itself
    struct hdi_search *search; // NULL: mistakes are to be told
};

_Static_assert(sizeof(struct hdi_site) == 40, "ABI");
_Static_assert(sizeof(struct hdi_variable) == 40, "ABI");
_Static_assert(sizeof(struct hdi_checks) == 64, "ABI");
_Static_assert(sizeof(struct hdi_screen_object) == 24, "ABI");
_Static_assert(offsetof(struct hdi_screen, args) == 32, "ABI");

#endif
