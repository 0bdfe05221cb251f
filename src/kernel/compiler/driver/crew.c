// The order of the objects is that of the kernels in the program, whoever makes
// them: what a build gives does not depend on the number of hands.
//
//     crew_start          crew_compile                     crew_end
//         |                    |                               |
//         v      (front end)   v                               v
//     hands open LLVM ... WAIT -> WORK: each reads the bitcode -> join
//                                  take one kernel, make it, again
//                             \-> END: nothing to do
//
// A hand takes kernels one by one, in order, so a long one keeps one hand only.
// No LLVM object is seen by two hands: a context belongs to one thread.
#include "kernel/compiler/driver/crew.h"

#include <llvm-c/Linker.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/driver/object.h"
#include "kernel/compiler/driver/signature.h"
#include "kernel/compiler/driver/versions.h"
#include "kernel/compiler/fiber/thread.h"
#include "kernel/compiler/flow/effort.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/prepare/prepare.h"
#include "kernel/compiler/tools/linker.h"

// Why parts: each kernel begins with a copy of the module it is in. Of a
// program with n kernels that would copy n * n of them; by parts it is n *
// PART. Why a most of saved bytes: a group of 256 work-items takes 256 MiB with
// that.
enum {
    // Threads take over from loops that are over the budget and so many times
    // as long as the kernel.
    MAX_GROWTH = 4,
    MAX_HANDS = 8,      // each reads the program once more
    PART = 32,          // kernels that are copied with each of them
    MAX_SAVED = 1 << 20 // by loops, per work-item [bytes]
};

// What became of one object. Written by the hand that took it, without the
// lock; read when no hand works any more.
struct result {
    hd_status status;
    struct hd_error error;
    struct hdi_text object;
};

// One thread and what it alone uses. `status` and `error` are its own until it
// has counted itself out of `working`.
struct hand {
    struct hdi_crew *crew;
    pthread_t thread;
    struct hdi_llvm llvm;
    hd_status status; // of what precedes the kernels
    struct hd_error error;
};

// Only goes forward; END may come without WORK.
enum phase {
    PHASE_WAIT, // for the front end
    PHASE_WORK,
    PHASE_END
};

// Invariant: objects below `next` have been taken, each by one hand, and their
// results are that hand's. The others are empty: no hand touches them.
struct hdi_crew {
    const struct hdi_source *source;
    const struct hdi_build *made_for; // its processor
    struct hand hands[MAX_HANDS];
    unsigned hand_count;
    pthread_mutex_t lock; // of all below
    pthread_cond_t changed;
    enum phase phase;
    unsigned working; // hands that have not finished
    const struct hdi_text *bitcode;
    struct hdi_build *build; // kernels: NULL until a hand has counted them
    uint32_t kernel_count;
    uint32_t object_count;  // one per kernel; of none, an empty one
    uint32_t next;          // object nobody has taken yet
    struct result *results; // per object
    bool failed;            // no more kernels are taken
};

// One kernel ------------------------------------------------------------------

// A kernel on its way from the program to an object.
// The program is shared by all kernels of a hand and only read; each form that
// is tried begins with a copy of its own (hdi_work_begin).
struct making {
    struct hdi_work work; // without a module until it has been prepared
    LLVMModuleRef program;
};

static hd_status make_loops(struct making *m, struct hd_error *error)
{
    return hdi_versions_build(&m->work, m->program, error);
}

// SHAPE, RANGE and CUT are left out: threads keep the kernel as it is written,
// and barriers become switches between them, so nothing is cut or turned.
static hd_status make_threads(struct making *m, bool coroutines,
                              struct hd_error *error)
{
    struct hdi_work *w = &m->work;

    HDI_TRY(hdi_work_begin(w, m->program, error));
    hd_status status = hdi_pipeline_run(w, HDI_STAGE_TOUCH, error);
    if (status == HD_OK)
        status = hdi_thread_build(w->llvm, w->module, w->kernel, coroutines,
                                  w->about, w->explanation, error);
    hdi_work_end(w);
    return status;
}

static bool has_images(const struct hdi_build_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->arg_count; i++)
        if (kernel->args[i].kind == HD_ARG_IMAGE)
            return true;
    return false;
}

// The kernel screened, as a function hdk_NAME.screen in a module of its own.
// Its name tells it from the checked one, with which it shares a module.
// HD_EBUILD: it cannot be screened, which is no failure of the build.
static hd_status make_screen(struct hdi_work *w, LLVMModuleRef program,
                             struct hd_error *error)
{
    struct hdi_text name = {0};

    HDI_TRY(hdi_work_begin(w, program, error));
    hd_status status =
        w->llvm->unscreened ? HD_EBUILD : hdi_pipeline_loops(w, error);
    hdi_work_end(w);
    HDI_TRY(status);
    hdi_text_print(&name, "hdk_%s", w->about->name);
    LLVMValueRef function =
        name.failed ? NULL : LLVMGetNamedFunction(w->module, name.data);
    hdi_text_print(&name, ".screen");
    if (function && !name.failed)
        LLVMSetValueName2(function, name.data, name.size);
    hdi_text_free(&name);
    return function ? HD_OK : HD_ENOMEM;
}

// Beside the kernel in thread form, which tells what is wrong, a screened one
// that is fast. Not all can be screened.
// It works with copies of what is known of the kernel and of LLVM's options:
// what a screened kernel finds out about itself (form, barriers) is not true of
// the checked one. What both need, memory, is the larger of the two.
static hd_status add_screen(struct hdi_work *checked, LLVMModuleRef program,
                            struct hd_error *error)
{
    struct hdi_build_kernel about = *checked->about;
    struct hdi_llvm llvm = *checked->llvm;
    struct hdi_text explanation = {0};
    struct hdi_forms forms = {0};
    struct hdi_work w = {.llvm = &llvm,
                         .mode = HDI_MODE_SCREENED,
                         .about = &about,
                         .explanation = &explanation,
                         .forms = &forms};

    if (has_images(&about))
        return HD_EBUILD;
    llvm.screen = true;
    llvm.unscreened = false;
    hd_status status = make_screen(&w, program, error);
    free(forms.list);
    hdi_text_free(&explanation);
    if (status == HD_OK && about.saved_bytes > MAX_SAVED)
        status = HD_EBUILD;
    if (status != HD_OK) {
        if (w.module)
            LLVMDisposeModule(w.module);
        return status;
    }
    if (about.saved_bytes > checked->about->saved_bytes)
        checked->about->saved_bytes = about.saved_bytes;
    if (about.local_bytes > checked->about->local_bytes)
        checked->about->local_bytes = about.local_bytes;
    // The linker destroys the module.
    return LLVMLinkModules2(checked->module, w.module)
               ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          llvm.path)
               : HD_OK;
}

// Of a checked kernel: as it is without checks.
// The calls of a checked kernel to the checker are opaque: each would make its
// footprint the whole of all buffers, and launches that may overlap without
// checks would not with them.
static hd_status find_plain_footprint(const struct making *m,
                                      struct hd_error *error)
{
    struct hdi_work w = {
        .llvm = m->work.llvm, .mode = HDI_MODE_PLAIN, .about = m->work.about};

    HDI_TRY(hdi_work_begin(&w, m->program, error));
    hd_status status = hdi_pipeline_run(&w, HDI_STAGE_TOUCH, error);
    hdi_work_end(&w);
    LLVMDisposeModule(w.module);
    return status;
}

// A screen that cannot be made (HD_EBUILD) costs speed alone; only lack of
// memory is handed on.
static hd_status make_checked(struct making *m, bool screens,
                              struct hd_error *error)
{
    struct hdi_work *w = &m->work;
    const struct hdi_build_kernel *about = w->about;

    HDI_TRY(find_plain_footprint(m, error));
    HDI_TRY(make_threads(m, false, error));
    if (about->form == HD_FORM_GRID)
        return hdi_fail(error, HD_EBUILD,
                        "%s:%u: kernel '%s' calls hd_grid_barrier(), and what "
                        "work-groups do together is not checked: build it "
                        "without --check",
                        about->file, about->line, about->name);
    w->about->form = HD_FORM_CHECKED;
    hd_status status = screens ? add_screen(w, m->program, error) : HD_EBUILD;
    if (status != HD_OK && status != HD_EBUILD)
        return status;
    hdi_text_print(w->explanation, "every access to memory is checked%s\n",
                   status == HD_OK ? ", screened in loops first" : "");
    return HD_OK;
}

// Loops keep private arrays of all work-items of a group; threads without
// barriers those of one.
static hd_status check_loops(const struct hdi_build_kernel *kernel,
                             struct hd_error *error)
{
    if (kernel->saved_bytes <= MAX_SAVED)
        return HD_OK;
    return hdi_fail(error, HD_EBUILD,
                    "%s:%u: kernel '%s' would keep %u bytes per work-item, "
                    "more than %d",
                    kernel->file, kernel->line, kernel->name,
                    kernel->saved_bytes, MAX_SAVED);
}

// Regions under masks, each for full vectors and for the rest of a row, may be
// many times as long as the kernel. What is optimised briefly takes half a unit
// per instruction.
static hd_status check_length(const struct making *m, unsigned kernel_length,
                              struct hd_error *error)
{
    const struct hdi_work *w = &m->work;
    struct hdi_effort cost = hdi_effort_of(w->module);

    if (cost.instructions <= 2 * w->llvm->budget ||
        cost.instructions / MAX_GROWTH <= kernel_length)
        return HD_OK;
    return hdi_fail(error, HD_EBUILD,
                    "%s:%u: kernel '%s' of %u instructions would become %u, "
                    "more than the budget of %llu allows",
                    w->about->file, w->about->line, w->about->name,
                    kernel_length, cost.instructions,
                    (unsigned long long)w->llvm->budget);
}

static enum hdi_mode mode_of(const struct hdi_llvm *llvm)
{
    return llvm->check   ? HDI_MODE_CHECKED
           : llvm->debug ? HDI_MODE_DEBUG
                         : HDI_MODE_PLAIN;
}

// What cannot become loops becomes threads, unless loops were asked for.
static hd_status make_module(struct making *m, const struct hdi_source *source,
                             struct hd_error *error)
{
    struct hdi_work *w = &m->work;
    bool threads = hdi_options_have(source->options, "-heddle-form=thread");

    if (w->mode == HDI_MODE_CHECKED)
        return make_checked(m, !threads, error);
    if (w->mode == HDI_MODE_DEBUG || threads)
        return make_threads(m, false, error);
    if (hdi_options_have(source->options, "-heddle-form=coroutine"))
        return make_threads(m, true, error);
    hd_status status = make_loops(m, error);
    bool only = hdi_options_have(source->options, "-heddle-form=loops");
    if (status == HD_OK)
        status = check_loops(w->about, error);
    if (status == HD_OK && !only)
        status = check_length(m, w->length, error);
    if (status != HD_EBUILD || only)
        return status;

    if (w->module)
        LLVMDisposeModule(w->module);
    w->module = NULL;
    free(w->forms->list);
    *w->forms = (struct hdi_forms){0};
    hdi_text_free(w->explanation);
    hdi_text_print(w->explanation, "no loops over work-items: %s\n",
                   error->text);
    return make_threads(m, true, error);
}

static hd_status make_kernel(struct hdi_llvm *llvm,
                             const struct hdi_source *source,
                             LLVMModuleRef program, LLVMValueRef function,
                             struct hdi_build_kernel *kernel,
                             struct hdi_text *object, struct hd_error *error)
{
    struct hdi_text explanation = {0};
    struct hdi_forms forms = {0};
    struct making m = {.work = {.llvm = llvm,
                                .mode = mode_of(llvm),
                                .about = kernel,
                                .explanation = &explanation,
                                .forms = &forms},
                       .program = program};

    HDI_TRY(hdi_signature_read(llvm, function, kernel, error));
    hd_status status = make_module(&m, source, error);
    if (status == HD_OK)
        status = hdi_object_make(&m.work, object, error);
    free(forms.list);
    if (m.work.module)
        LLVMDisposeModule(m.work.module);
    if (status == HD_OK && explanation.failed)
        status =
            hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
    if (status == HD_OK)
        kernel->explanation = explanation.data;
    else
        hdi_text_free(&explanation);
    return status;
}

// Of a program without kernels: the linker makes no library of nothing.
static hd_status make_nothing(struct hdi_llvm *llvm, struct hdi_text *object,
                              struct hd_error *error)
{
    static char nothing[] = "nothing";
    struct hdi_build_kernel none = {.name = nothing, .file = nothing};
    struct hdi_forms forms = {0};
    struct hdi_text explanation = {0};
    struct hdi_work work = {
        .llvm = llvm,
        .mode = HDI_MODE_PLAIN,
        .about = &none,
        .explanation = &explanation,
        .forms = &forms,
        .module = LLVMModuleCreateWithNameInContext(llvm->path, llvm->context)};

    hd_status status = hdi_object_make(&work, object, error);
    LLVMDisposeModule(work.module);
    hdi_text_free(&explanation);
    return status;
}

// Hands -----------------------------------------------------------------------

static LLVMValueRef next_kernel(LLVMValueRef function)
{
    while (function && !hdi_is_kernel(function))
        function = LLVMGetNextFunction(function);
    return function;
}

// Where one kernel is asked for, the others go.
// They become internal before dead code is looked for, so helpers that only
// they call go too.
static hd_status keep_asked(struct hdi_llvm *llvm,
                            const struct hdi_source *source,
                            LLVMModuleRef program, struct hd_error *error)
{
    const size_t length = sizeof(HDI_KERNEL_OPTION) - 1;
    const char *name = NULL;

    for (const char *const *o = source->options; *o; o++)
        if (strncmp(*o, HDI_KERNEL_OPTION, length) == 0)
            name = *o + length;
    if (!name)
        return HD_OK;
    LLVMValueRef asked = LLVMGetNamedFunction(program, name);
    if (!asked || !hdi_is_kernel(asked))
        return hdi_fail(error, HD_EINVAL,
                        "%s: there is no kernel '%s' to be made alone, as "
                        "option " HDI_KERNEL_OPTION "%s says",
                        source->path, name, name);
    for (LLVMValueRef f = next_kernel(LLVMGetFirstFunction(program)); f;
         f = next_kernel(LLVMGetNextFunction(f)))
        if (f != asked)
            LLVMSetLinkage(f, LLVMInternalLinkage);
    return hdi_llvm_passes(llvm, program, "globaldce", error);
}

// Called by the hand that comes first, with the lock held.
static hd_status count_kernels(struct hdi_crew *crew,
                               const struct hdi_llvm *llvm,
                               LLVMModuleRef program, struct hd_error *error)
{
    uint32_t count = 0;

    for (LLVMValueRef f = next_kernel(LLVMGetFirstFunction(program)); f;
         f = next_kernel(LLVMGetNextFunction(f)))
        count++;
    struct hdi_build_kernel *kernels = calloc(count + 1, sizeof(*kernels));
    crew->results = calloc(count + 1, sizeof(*crew->results));
    if (!kernels || !crew->results) {
        free(kernels);
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        crew->source->path);
    }
    crew->build->variable_bytes = hdi_signature_variables(llvm, program);
    crew->build->kernels = kernels;
    crew->build->kernel_count = crew->kernel_count = count;
    crew->object_count = count ? count : 1;
    return HD_OK;
}

// The number of an object for this hand; SIZE_MAX when there are no more.
// Counting is part of taking: no kernel has a number before a hand has read the
// program, and each hand reads it for itself. All count the same.
static size_t take(struct hand *hand, LLVMModuleRef program)
{
    struct hdi_crew *crew = hand->crew;
    size_t taken = SIZE_MAX;

    pthread_mutex_lock(&crew->lock);
    if (!crew->build->kernels && !crew->failed) {
        hand->status = count_kernels(crew, &hand->llvm, program, &hand->error);
        crew->failed |= hand->status != HD_OK;
    }
    if (!crew->failed && crew->next < crew->object_count)
        taken = crew->next++;
    pthread_mutex_unlock(&crew->lock);
    return taken;
}

// Make kernel `taken`, which is `function` in the program, out of `part`: the
// program itself when it has few, else a copy with those near it, `*begin` on.
// A hand's numbers only grow, so one part is enough: when the next kernel lies
// behind it, it will not be needed again.
static void make_of_part(struct hand *hand, LLVMModuleRef program,
                         LLVMValueRef function, size_t taken,
                         LLVMModuleRef *part, size_t *begin)
{
    struct hdi_crew *crew = hand->crew;
    struct result *result = &crew->results[taken];

    if (crew->kernel_count > PART && (!*part || taken - *begin >= PART)) {
        if (*part)
            LLVMDisposeModule(*part);
        *part = NULL;
        *begin = taken / PART * PART;
        result->status = hdi_prepare_part(&hand->llvm, program, *begin, PART,
                                          part, &result->error);
        if (result->status != HD_OK)
            return;
    }
    LLVMModuleRef from = *part ? *part : program;
    if (*part)
        function = LLVMGetNamedFunction(*part, hdi_value_name(function));
    result->status = make_kernel(&hand->llvm, crew->source, from, function,
                                 &crew->build->kernels[taken], &result->object,
                                 &result->error);
}

// After a failure no more are taken, and those that others have begun are
// finished. Kernels are taken in order, so all before one that fails have been
// begun: the error that is told does not depend on who was faster.
static void make_kernels(struct hand *hand, LLVMModuleRef program)
{
    struct hdi_crew *crew = hand->crew;
    LLVMValueRef function = next_kernel(LLVMGetFirstFunction(program));
    LLVMModuleRef part = NULL;
    size_t at = 0, taken, begin = 0;

    while ((taken = take(hand, program)) != SIZE_MAX) {
        for (; at < taken; at++)
            function = next_kernel(LLVMGetNextFunction(function));
        struct result *result = &crew->results[taken];
        if (crew->kernel_count > 0)
            make_of_part(hand, program, function, taken, &part, &begin);
        else
            result->status =
                make_nothing(&hand->llvm, &result->object, &result->error);
        if (result->status != HD_OK) {
            pthread_mutex_lock(&crew->lock);
            crew->failed = true;
            pthread_mutex_unlock(&crew->lock);
        }
    }
    if (part)
        LLVMDisposeModule(part);
}

// A hand may come here when all is done: its LLVM took long to get ready.
static bool wait_for_work(struct hdi_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->phase == PHASE_WAIT)
        pthread_cond_wait(&crew->changed, &crew->lock);
    // Whoever comes late finds nothing to do.
    bool work = crew->phase == PHASE_WORK && !crew->failed &&
                (!crew->build->kernels || crew->next < crew->object_count);
    pthread_mutex_unlock(&crew->lock);
    return work;
}

// Options for those who work on the compiler.
static hd_status read_options(struct hdi_llvm *llvm, const char *const *options,
                              struct hd_error *error)
{
    static const char without[] = HDI_WITHOUT_OPTION;
    static const char budget[] = HDI_BUDGET_OPTION;

    llvm->budget = HDI_BUDGET;
    if (hdi_options_have(options, "-heddle-passes=verify"))
        llvm->watch = HDI_WATCH_VERIFY;
    if (hdi_options_have(options, "-heddle-passes=dump"))
        llvm->watch = HDI_WATCH_DUMP;
    for (const char *const *o = options; *o; o++)
        if (strncmp(*o, without, sizeof(without) - 1) == 0)
            HDI_TRY(hdi_rules_leave_out(llvm, *o + sizeof(without) - 1, error));
        else if (strncmp(*o, budget, sizeof(budget) - 1) == 0)
            llvm->budget = strtoul(*o + sizeof(budget) - 1, NULL, 10);
    return HD_OK;
}

// LLVM is opened before there is work, which hides that time behind the front
// end. Hands that fail still count themselves out, else compile would wait for
// ever.
static void *run(void *data)
{
    struct hand *hand = data;
    struct hdi_crew *crew = hand->crew;
    LLVMModuleRef program = NULL;

    hand->status = hdi_llvm_open(&hand->llvm, crew->made_for->target,
                                 crew->made_for->cpu, crew->made_for->features,
                                 crew->source->path, &hand->error);
    hand->llvm.cancel = crew->source->cancel;
    hand->llvm.debug = hdi_options_have(crew->source->options, "-heddle-debug");
    hand->llvm.check = hdi_options_have(crew->source->options, "-heddle-check");
    if (hand->status == HD_OK)
        hand->status =
            read_options(&hand->llvm, crew->source->options, &hand->error);
    bool work = wait_for_work(crew);
    if (hand->status == HD_OK && work) {
        hand->status =
            hdi_prepare_program(&hand->llvm, crew->bitcode->data,
                                crew->bitcode->size, &program, &hand->error);
        if (hand->status == HD_OK)
            hand->status =
                keep_asked(&hand->llvm, crew->source, program, &hand->error);
        if (hand->status == HD_OK)
            make_kernels(hand, program);
    }
    if (program)
        LLVMDisposeModule(program);
    hdi_llvm_close(&hand->llvm);

    pthread_mutex_lock(&crew->lock);
    crew->working--;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

// The crew --------------------------------------------------------------------

// How many kernels a part seems to have, at most `most`.
// Too many costs threads that find nothing to do, too few makes kernels wait;
// comments and __kernel are both counted. Bitcode is not looked into.
static unsigned guess_kernels(const struct hdi_part *part, unsigned most)
{
    static const char word[] = "kernel";
    const char *at = part->data, *end = part->data + part->size;
    unsigned count = 0;

    if (part->kind != HDI_PART_TEXT)
        return most;
    while (count < most &&
           (at = memmem(at, (size_t)(end - at), word, sizeof(word) - 1))) {
        count++;
        at += sizeof(word) - 1;
    }
    return count;
}

// As many as can run at once; no more than there seem to be kernels.
static unsigned hands_for(const struct hdi_source *source)
{
    cpu_set_t allowed;
    unsigned cores = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                         ? (unsigned)CPU_COUNT(&allowed)
                         : 1;
    unsigned most = cores < MAX_HANDS ? cores : MAX_HANDS, count = 0;

    for (size_t i = 0; i < source->part_count && count < most; i++)
        count += guess_kernels(&source->parts[i], most - count);
    return count ? count : 1;
}

// The lock is held while threads start, so that none counts itself out of
// `working` before it was counted in. Fewer threads than wanted will do.
hd_status hdi_crew_start(const struct hdi_source *source,
                         const struct hdi_build *build, struct hdi_crew **made,
                         struct hd_error *error)
{
    struct hdi_crew *crew = calloc(1, sizeof(*crew));
    unsigned wanted = hands_for(source);

    if (!crew)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        source->path);
    crew->source = source;
    crew->made_for = build;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    pthread_mutex_lock(&crew->lock);
    for (; crew->hand_count < wanted; crew->hand_count++) {
        struct hand *hand = &crew->hands[crew->hand_count];
        hand->crew = crew;
        if (pthread_create(&hand->thread, NULL, run, hand) != 0)
            break;
        crew->working++;
    }
    pthread_mutex_unlock(&crew->lock);
    if (crew->hand_count == 0) {
        hdi_crew_end(crew);
        return hdi_fail(error, HD_ENOMEM, "%s: no thread to compile",
                        source->path);
    }
    *made = crew;
    return HD_OK;
}

// All objects that were made are freed here, also after a failure.
hd_status hdi_crew_compile(struct hdi_crew *crew,
                           const struct hdi_text *bitcode,
                           struct hdi_build *build, struct hdi_text *archive,
                           struct hd_error *error)
{
    pthread_mutex_lock(&crew->lock);
    crew->bitcode = bitcode;
    crew->build = build;
    crew->phase = PHASE_WORK;
    pthread_cond_broadcast(&crew->changed);
    while (crew->working > 0)
        pthread_cond_wait(&crew->changed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);

    hd_status status = HD_OK;
    for (uint32_t i = 0; i < crew->object_count; i++) {
        struct result *result = &crew->results[i];
        if (result->object.size > 0)
            hdi_linker_add(archive, result->object.data, result->object.size);
        hdi_text_free(&result->object);
        if (result->status != HD_OK && status == HD_OK) {
            status = result->status;
            *error = result->error;
        }
    }
    for (unsigned h = 0; h < crew->hand_count; h++)
        if (crew->hands[h].status != HD_OK && status == HD_OK) {
            status = crew->hands[h].status;
            *error = crew->hands[h].error;
        }
    return status;
}

void hdi_crew_end(struct hdi_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->phase = PHASE_END;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned h = 0; h < crew->hand_count; h++)
        pthread_join(crew->hands[h].thread, NULL);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    free(crew->results);
    free(crew);
}
