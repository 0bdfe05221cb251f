// Programs and kernels: from OpenCL C text, or a binary, to code on a device.
//
//     source --front end--> bitcode --work-group compiler--> object --ld-->
//     image --container--> cache, .hdb file --backend load--> entries
//
// All but the last arrow happens in the compiler module, a shared object that
// is opened on the first cache miss only, since loading LLVM takes longer than
// running most cached kernels.
#ifndef HDI_KERNEL_PROGRAM_H
#define HDI_KERNEL_PROGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "heddle/kernel.h"
#include "trace/trace.h"

struct hdi_cache;
struct hdi_image;

// Where programs come from. `cache` may be NULL: compile every time.
struct hdi_program_context {
    struct hdi_device *device;
    struct hdi_device *const *others; // devices to build for as well, as far as
    unsigned other_count;             // that goes: a launch there says if not
    struct hdi_cache *cache;
    struct hdi_trace *trace; // names of kernels are looked up in it; optional
    const char *options;     // added to those of every program; optional
    // Set: what is being built ends with HD_ECANCELED, and what is to be built
    // does not begin; optional.
    const atomic_bool *cancel;
};

struct hdi_kernel_arg {
    struct hd_kernel_arg shown;
    uint32_t offset; // in the packed arguments [bytes]
    bool writes;     // the kernel may write it
};

// What launches of a kernel have found out about it, any value only a hint. A
// kernel is read-only, so that lies beside it.
//
// Threads: written by launches, read by anybody (relaxed but for grids).
struct hdi_learned {
    // Time of one work-item [ns / 1024], 0 when it never ran: for the cutoff.
    _Alignas(64) _Atomic uint64_t item_time;
    // The same of a whole launch on its device, and as it was when that was
    // written down: see launch/measure/pace.h.
    _Atomic uint64_t pace, noted;
    // The same where its work-groups wait for each other: on one worker, and on
    // several; and how many launches there were.
    _Atomic uint64_t alone_time, shared_time;
    _Atomic uint32_t launches;
    // Of a checked one: how often its screened form was left.
    _Atomic uint64_t suspected;
};

struct hd_kernel {
    struct hd_kernel_info info;
    const struct hdi_kernel_arg *args;
    uint32_t args_size; // of the packed arguments [bytes]
    uint32_t axis;      // along which its lanes had better run
    uint32_t together;  // work-items of several groups that a leaf had better
                        // have at least, as lanes; 0: groups are apart
    const struct hdi_footprint *footprint;
    const struct hdi_entry *entry; // on the context's device
    // Of a checked one: screened; NULL: it cannot be.
    const struct hdi_entry *screen;
    struct hd_program *program;
    uint32_t trace_name;
    bool keeps; // its program has variables that kernels may write
    struct hdi_learned *learned; // its program's
};

// It has one more owner: hd_program_destroy() is to be called once more.
void hdi_program_hold(struct hd_program *program);

// As hd_program_create(), hd_program_destroy().
hd_status hdi_program_create(const struct hdi_program_context *context,
                             const struct hd_program_params *params,
                             struct hd_program **program,
                             struct hd_error *error);

// The same kernel built for checking: from what its program was made of, when
// it is asked for first or, with -g, with the program; or the one that its
// binary holds. NULL: there is none, and `why` (static) says for faults what to
// do. It goes with the program. Any thread.
const struct hd_kernel *hdi_kernel_checked(const struct hd_kernel *kernel,
                                           const char **why);

// The same kernel on this device; NULL: its program was not built for it.
const struct hd_kernel *hdi_kernel_on(const struct hd_kernel *kernel,
                                      const struct hdi_device *device);

// The program on this device; NULL: it was not built for it.
const struct hd_program *hdi_program_on(const struct hd_program *program,
                                        const struct hdi_device *device);

// The same program, built for another device, becomes a part of it and goes
// with it. Nobody uses it meanwhile.
void hdi_program_add(struct hd_program *program, struct hd_program *other);

// Where its code is loaded.
const struct hdi_device *hdi_kernel_device(const struct hd_kernel *kernel);

// Whether a kernel may write what it is given for this argument.
bool hdi_kernel_may_write(const struct hd_kernel_arg *arg);

// Operations of all work-items of a launch, by what the compiler has counted
// and how often loops go round with these arguments: an estimate, good for
// comparing. 0: not known, or nothing to do. The launch has been checked; any
// thread.
double hdi_kernel_steps(const struct hd_kernel *kernel,
                        const struct hd_range *range,
                        const struct hd_arg *args);

// As hd_kernel_footprint(), which tells of images that they are touched
// anywhere. With the description of each argument that is an image (NULL: of
// others, and of one that is not known) texels are told as well, in bytes from
// the first one.
hd_status hdi_kernel_footprint(const struct hd_kernel *kernel,
                               const struct hd_range *range,
                               const struct hd_arg *args, unsigned arg_count,
                               const struct hd_piece *piece,
                               const struct hdi_image *const *images,
                               struct hd_footprint *footprints,
                               struct hd_error *error);

// How much its variables in global memory take [bytes].
uint64_t hdi_program_variables(const struct hd_program *program);

// A number for what a program computes: equal code, equal number, also in other
// processes. 0: its code is not at hand.
uint64_t hdi_program_content(const struct hd_program *program);

// The environment asks for no cache: HEDDLE_CACHE is "off".
bool hdi_cache_is_off(void);

// Disk cache. `folder` NULL: $HEDDLE_CACHE, $XDG_CACHE_HOME/heddle or
// ~/.cache/heddle. The
// folder is made with mode 0700; one that is not ours, is a link, or is open to
// others is refused with HD_EIO; the caller warns and goes on without.
hd_status hdi_cache_open(const char *folder, struct hdi_cache **cache,
                         struct hd_error *error);
void hdi_cache_close(struct hdi_cache *cache);
const char *hdi_cache_folder(const struct hdi_cache *cache);

// The part of it that devices use, as long as it is open.
struct hdi_archive hdi_cache_archive(struct hdi_cache *cache);

// Whether this build can compile OpenCL C.
bool hdi_has_compiler(void);

// What the kernel layer of this build can do, for `heddle info`: "clang 19.1.7,
// LLVM 19.1.7", or why there is no compiler. Owner: static storage.
const char *hdi_compiler_description(void);

#endif
