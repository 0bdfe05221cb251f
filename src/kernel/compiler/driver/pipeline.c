// One line per pass, in one table: what an order is good for is written there,
// and -heddle-without=RULE leaves out those that are only for speed.
//
// Invariant: after each pass the module is valid, which -heddle-passes=verify
// checks. A pass that is left out changes no result, only the speed.
#include "kernel/compiler/driver/pipeline.h"

#include <llvm-c/Analysis.h>
#include <stdio.h>

#include "base/error.h"
#include "kernel/compiler/analysis/faults.h"
#include "kernel/compiler/analysis/wraps.h"
#include "kernel/compiler/check/instrument.h"
#include "kernel/compiler/check/screen.h"
#include "kernel/compiler/driver/code.h"
#include "kernel/compiler/emit/bases.h"
#include "kernel/compiler/emit/quotient.h"
#include "kernel/compiler/fiber/thread.h"
#include "kernel/compiler/flow/effort.h"
#include "kernel/compiler/ir/joins.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/lanes/jam.h"
#include "kernel/compiler/lanes/masks.h"
#include "kernel/compiler/limits/bounds.h"
#include "kernel/compiler/limits/interior.h"
#include "kernel/compiler/loops/chunk.h"
#include "kernel/compiler/loops/workgroup.h"
#include "kernel/compiler/prepare/calls.h"
#include "kernel/compiler/prepare/library.h"
#include "kernel/compiler/prepare/narrow.h"
#include "kernel/compiler/prepare/pieces.h"
#include "kernel/compiler/prepare/prepare.h"
#include "kernel/compiler/prepare/switches.h"
#include "kernel/compiler/prepare/truncate.h"
#include "kernel/compiler/touch/footprint.h"
#include "kernel/compiler/transform/early.h"
#include "kernel/compiler/transform/short.h"
#include "kernel/compiler/transform/strided.h"
#include "kernel/compiler/transform/top.h"
#include "kernel/compiler/transform/tree.h"
#include "kernel/compiler/worth/whole.h"

#define TIDY "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg"

// Passes of ours --------------------------------------------------------------

static void isolate(struct hdi_work *w)
{
    hdi_prepare_inlining(w->module, w->kernel);
    hdi_prepare_structures(w->llvm, w->builder, w->kernel);
}

static void keep_visits(struct hdi_work *w)
{
    hdi_prepare_visits(w->module);
}

static void flatten_switches(struct hdi_work *w)
{
    hdi_switches_flatten(w->llvm, w->module);
}

static hd_status keep_calls(struct hdi_work *w, struct hd_error *error)
{
    return hdi_calls_keep(w->llvm, w->kernel, w->explanation, error);
}

// Whether every access is looked at, so nothing may hide one in a call.
static bool is_asked(const struct hdi_work *w)
{
    return w->mode == HDI_MODE_CHECKED || w->mode == HDI_MODE_SCREENED;
}

static hd_status limit_calls(struct hdi_work *w, struct hd_error *error)
{
    return hdi_calls_limit(w->llvm, w->kernel, is_asked(w), w->about, error);
}

static void drop_events(struct hdi_work *w)
{
    hdi_prepare_events(w->kernel);
}

static void instrument_variables(struct hdi_work *w)
{
    hdi_instrument_variables(w->llvm, w->module, w->kernel);
}

static hd_status instrument_memory(struct hdi_work *w, struct hd_error *error)
{
    return hdi_instrument_memory(w->llvm, w->module, w->kernel, error);
}

static void limit_ids(struct hdi_work *w)
{
    hdi_prepare_ids(w->llvm, w->kernel);
}

static void calm_local(struct hdi_work *w)
{
    hdi_prepare_local(w->kernel);
}

static void calm_private(struct hdi_work *w)
{
    hdi_prepare_private(w->kernel);
}

static void widen_ids(struct hdi_work *w)
{
    hdi_widen_ids(w->builder, w->kernel);
}

static void copy_in_pieces(struct hdi_work *w)
{
    hdi_copy_in_pieces(w->llvm, w->builder, w->kernel);
}

static void mark_constants(struct hdi_work *w)
{
    hdi_prepare_constants(w->llvm, w->kernel);
}

static void narrow_vectors(struct hdi_work *w)
{
    hdi_narrow_vectors(w->llvm, w->builder, w->kernel);
}

// Vectors of the kernel, such as float4, are taken apart for lanes as a rule.
// Where that would make regions too long (whole.h) they stay, and no
// lanes are tried: so it is decided before anything is taken apart.
static void keep_whole(struct hdi_work *w)
{
    struct hdi_whole length = hdi_whole_find(w->llvm, w->kernel);

    w->whole = hdi_whole_pays(&length);
    if (!w->whole)
        return;
    hdi_prepare_vectors(w->llvm, w->kernel);
    if (w->explanation)
        hdi_text_print(w->explanation,
                       "its vectors stay whole: taken apart, its %u "
                       "instructions would be %u\n",
                       length.whole, length.apart);
}

static hd_status take_apart(struct hdi_work *w, struct hd_error *error)
{
    return w->whole ? HD_OK
                    : hdi_llvm_passes(w->llvm, w->module,
                                      "function(scalarizer," TIDY ")", error);
}

static void tidy_calls(struct hdi_work *w)
{
    hdi_prepare_calls(w->llvm, w->builder, w->kernel);
}

static void tidy_screen(struct hdi_work *w)
{
    hdi_screen_tidy(w->kernel);
}

static hd_status find_footprint(struct hdi_work *w, struct hd_error *error)
{
    return hdi_footprint_find(w->llvm, w->kernel, w->about, error);
}

static void mark_images(struct hdi_work *w)
{
    hdi_bounds_mark_images(w->llvm->context, w->kernel, w->about);
}

static void find_flat(struct hdi_work *w)
{
    w->flat = hdi_chunk_is_flat(w->module, w->kernel);
}

// Whole vectors have no lanes that could run along another axis.
static hd_status find_axis(struct hdi_work *w, struct hd_error *error)
{
    if (w->whole)
        return HD_OK;
    return hdi_axis_find(w->llvm, w->kernel, w->flat, w->about, &w->axis,
                         error);
}

// Flat kernels alone: elsewhere groups matter, and a bound would cut through
// them.
static void bound_top(struct hdi_work *w)
{
    if (w->flat)
        hdi_top_bound(w->llvm, w->module, w->builder, w->kernel);
}

static hd_status split_interior(struct hdi_work *w, struct hd_error *error)
{
    return w->flat ? hdi_interior_split(w->llvm, w->module, w->kernel, &w->box,
                                        &w->known, error)
                   : HD_OK;
}

static hd_status check_grid(struct hdi_work *w, struct hd_error *error)
{
    return hdi_cut_check_grid(w->llvm, w->kernel, error);
}

static hd_status fail_memory(const struct hdi_work *w, struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                    w->llvm->path);
}

static hd_status load_early(struct hdi_work *w, struct hd_error *error)
{
    return hdi_early_move(w->llvm, w->builder, w->kernel)
               ? HD_OK
               : fail_memory(w, error);
}

static hd_status pair_steps(struct hdi_work *w, struct hd_error *error)
{
    return hdi_tree_pair(w->llvm, w->builder, w->kernel)
               ? HD_OK
               : fail_memory(w, error);
}

static void rewrite_strided(struct hdi_work *w)
{
    if (!w->flat)
        hdi_strided_rewrite(w->llvm, w->module, w->builder, w->kernel);
}

static void carry_short(struct hdi_work *w)
{
    hdi_short_rewrite(w->builder, w->kernel);
}

static hd_status into_memory(struct hdi_work *w, struct hd_error *error)
{
    return hdi_llvm_passes(w->llvm, w->module, "function(reg2mem)", error);
}

// Blocks are split at barriers, which phi nodes would not follow: values go
// into memory, each to a slot of its own, and back in CODE.
static hd_status isolate_barriers(struct hdi_work *w, struct hd_error *error)
{
    w->cuts.barriers = hdi_cut_barriers(w->llvm, w->builder, w->kernel);
    return w->cuts.barriers > 0 ? into_memory(w, error) : HD_OK;
}

// The traits that are judged are found by the cut itself, hence here. What was
// judged for an earlier version of the kernel stays.
static hd_status soften_loops(struct hdi_work *w, struct hd_error *error)
{
    HDI_TRY(hdi_cut_soften(w->llvm, w->module, w->builder, w->kernel, &w->cuts,
                           error));
    if (w->mode != HDI_MODE_PLAIN || w->about->suits != HD_SUITS_ANY)
        return HD_OK;
    struct hdi_text why = {0};
    w->about->suits =
        hdi_traits_judge(&w->cuts.traits, w->about->required_local, &why);
    hdi_text_print(w->explanation, "suits %s: %s\n",
                   w->about->suits == HD_SUITS_CPU ? "a CPU" : "a GPU",
                   why.data ? why.data : "");
    hdi_text_free(&why);
    return HD_OK;
}

// Without barriers there is one region, and its branches are its own matter.
static hd_status isolate_branches(struct hdi_work *w, struct hd_error *error)
{
    if (w->cuts.barriers == 0 && w->cuts.soft_loops == 0)
        return HD_OK;
    HDI_TRY(hdi_cut_branches(w->llvm, w->builder, w->kernel, &w->cuts, error));
    return into_memory(w, error);
}

static hd_status describe_cuts(struct hdi_work *w, struct hd_error *error)
{
    return hdi_cut_describe(w->llvm, w->kernel, &w->cuts, &w->flow, error);
}

static void promote_joins(struct hdi_work *w)
{
    hdi_joins_promote(w->llvm, w->module);
}

static void end_notes(struct hdi_work *w, struct hdi_text *notes)
{
    w->llvm->notes = NULL;
    if (notes->failed)
        w->explanation->failed = true;
    hdi_text_free(notes);
}

static hd_status keep_wraps_scalar(struct hdi_work *w, struct hd_error *error)
{
    struct hdi_text notes = {0};

    w->llvm->notes = &notes;
    hd_status status = hdi_wraps_keep_scalar(w->llvm, w->module, error);
    if (notes.data)
        hdi_text_append(w->explanation, notes.data, notes.size);
    end_notes(w, &notes);
    return status;
}

static hd_status optimise(struct hdi_work *w, struct hd_error *error)
{
    return hdi_code_optimise(w->llvm, w->module, w->explanation, error);
}

static hd_status jam_rows(struct hdi_work *w, struct hd_error *error)
{
    return hdi_jam_rows(w->llvm, w->module, error);
}

static hd_status widen_masks(struct hdi_work *w, struct hd_error *error)
{
    return hdi_masks_widen(w->llvm, w->module, error);
}

static void bound_shifts(struct hdi_work *w)
{
    hdi_faults_bound_shifts(w->module);
}

static void bound_quotients(struct hdi_work *w)
{
    hdi_quotients_bound(w->llvm, w->module);
}

static void hide_bases(struct hdi_work *w)
{
    hdi_bases_hide(w->llvm, w->module);
}

static void begin_without_line(struct hdi_work *w)
{
    if (!w->llvm->debug)
        hdi_code_begin_without_line(w->llvm, w->module);
}

static void measure_threads(struct hdi_work *w)
{
    hdi_thread_measure(w->llvm, w->module);
}

static hd_status link_halves(struct hdi_work *w, struct hd_error *error)
{
    return hdi_library_link_halves(w->llvm, w->module, error);
}

// All passes ------------------------------------------------------------------

enum {
    PLAIN = HDI_MODE_PLAIN,
    DEBUG = HDI_MODE_DEBUG,
    CHECKED = HDI_MODE_CHECKED,
    SCREENED = HDI_MODE_SCREENED,
    ASKED = CHECKED | SCREENED,
    FAST = PLAIN | SCREENED,
    ALL = PLAIN | DEBUG | CHECKED | SCREENED
};

// In their order. `rule`: it may be left out. What a pass does is one of three:
// LLVM's passes, a change, or a change that may fail.
// Invariant: of `llvm`, `change` and `run` one is not NULL, and either `name`
// or `rule` is set. The modes of a pass are those in which it is needed; a rule
// is looked up in addition.
static const struct pass {
    enum hdi_stage stage;
    const char *name;
    unsigned modes;
    const char *llvm;
    void (*change)(struct hdi_work *work);
    hd_status (*run)(struct hdi_work *work, struct hd_error *error);
    int rule; // and 1; 0: none
} passes[] = {
#define LLVM(stage, name, modes, text) \
    {HDI_STAGE_##stage, name, modes, text, NULL, NULL, 0}
#define CHANGE(stage, name, modes, function) \
    {HDI_STAGE_##stage, name, modes, NULL, function, NULL, 0}
#define RUN(stage, name, modes, function) \
    {HDI_STAGE_##stage, name, modes, NULL, NULL, function, 0}
#define MAY_CHANGE(stage, rule, modes, function) \
    {HDI_STAGE_##stage, NULL, modes, NULL, function, NULL, HDI_RULE_##rule + 1}
#define MAY_RUN(stage, rule, modes, function) \
    {HDI_STAGE_##stage, NULL, modes, NULL, NULL, function, HDI_RULE_##rule + 1}

    // One function. What other kernels alone need goes away first. Functions
    // lose their variables, and blocks, before they become part of others,
    // perhaps often: promoting variables takes the product of them and of
    // blocks.
    CHANGE(PREPARE, "isolate", ALL, isolate),
    CHANGE(PREPARE, "visits", ASKED, keep_visits),
    LLVM(PREPARE, "shed", PLAIN, "globaldce,function(sroa,simplifycfg)"),
    MAY_CHANGE(PREPARE, SWITCHES, PLAIN, flatten_switches),
    // Checked and screened kernels look at all accesses, so at all functions.
    RUN(PREPARE, "calls kept", PLAIN | DEBUG, keep_calls),
    RUN(PREPARE, "calls limited", ALL, limit_calls),
    LLVM(PREPARE, "inline", ALL, "globaldce,always-inline,globaldce"),
    // Blocks are split, which phi nodes do not follow.
    LLVM(PREPARE, "memory", ASKED, "function(reg2mem)"),
    CHANGE(PREPARE, "events", ALL, drop_events),
    CHANGE(PREPARE, "variables", ASKED, instrument_variables),
    LLVM(PREPARE, "values", ASKED, "function(sroa," TIDY ")"),
    RUN(PREPARE, "accesses", ASKED, instrument_memory),

    // What makes loops over work-items possible and worth having.
    CHANGE(PREPARE, "ids", FAST, limit_ids),
    CHANGE(PREPARE, "local", FAST, calm_local),
    CHANGE(PREPARE, "private", FAST, calm_private),
    LLVM(PREPARE, "promote", FAST, "function(sroa)"),
    CHANGE(PREPARE, "widen", FAST, widen_ids),
    LLVM(PREPARE, "simplify", FAST,
         "function(" TIDY ",loop-simplify,lcssa,loop(indvars,loop-unroll-full),"
         "sroa," TIDY ")"),
    MAY_CHANGE(PREPARE, PIECES, FAST, copy_in_pieces),
    MAY_CHANGE(PREPARE, CONSTANTS, FAST, mark_constants),
    MAY_CHANGE(PREPARE, NARROW, FAST, narrow_vectors),
    MAY_CHANGE(PREPARE, WHOLE, PLAIN, keep_whole),
    RUN(PREPARE, "scalars", FAST, take_apart),
    CHANGE(PREPARE, "calls", FAST, tidy_calls),
    CHANGE(PREPARE, "marks", SCREENED, tidy_screen),

    RUN(TOUCH, "footprint", PLAIN, find_footprint),

    CHANGE(SHAPE, "images", PLAIN, mark_images),
    CHANGE(SHAPE, "flat", PLAIN, find_flat),
    MAY_RUN(SHAPE, AXIS, PLAIN, find_axis),

    MAY_CHANGE(RANGE, TOP, PLAIN, bound_top),
    MAY_RUN(RANGE, INTERIOR, PLAIN, split_interior),

    RUN(CUT, "grid", FAST, check_grid),
    MAY_RUN(CUT, EARLY, PLAIN, load_early),
    MAY_RUN(CUT, TREE, PLAIN, pair_steps),
    MAY_CHANGE(CUT, STRIDED, FAST, rewrite_strided),
    MAY_CHANGE(CUT, SHORT, FAST, carry_short),
    LLVM(CUT, "memory", FAST, "function(simplifycfg,loop-simplify,reg2mem)"),
    RUN(CUT, "barriers", FAST, isolate_barriers),
    RUN(CUT, "loops", FAST, soften_loops), // weighs lanes too
    RUN(CUT, "branches", FAST, isolate_branches),
    RUN(CUT, "describe", FAST, describe_cuts),

    CHANGE(CODE, "joins", ALL, promote_joins),
    // Blocks are joined first: instcombine moves what is used in a later block
    // alone into it, chain by chain, and chains that a processor could overlap
    // would stand one after another, each longer than it looks ahead.
    LLVM(CODE, "tidy", ALL, "function(sroa,simplifycfg," TIDY ")"),
    RUN(CODE, "wraps", ALL, keep_wraps_scalar),
    RUN(CODE, "optimise", ALL, optimise),
    MAY_RUN(CODE, JAM, PLAIN, jam_rows),
    MAY_RUN(CODE, MASKS, FAST, widen_masks),
    CHANGE(CODE, "shifts", ALL, bound_shifts),
    CHANGE(CODE, "quotients", ALL, bound_quotients),
    CHANGE(CODE, "bases", FAST, hide_bases),
    CHANGE(CODE, "lines", ALL, begin_without_line),
    CHANGE(CODE, "threads", ALL, measure_threads),
    RUN(CODE, "halves", ALL, link_halves),
};

// Running ---------------------------------------------------------------------

static const char *name_of(const struct pass *pass)
{
    return pass->rule ? hdi_rule_name((enum hdi_rule)(pass->rule - 1))
                      : pass->name;
}

static bool is_on(const struct hdi_work *w, const struct pass *pass)
{
    return pass->modes & w->mode &&
           (!pass->rule ||
            hdi_rule_is_on(w->llvm, (enum hdi_rule)(pass->rule - 1)));
}

static hd_status run(const struct pass *pass, struct hdi_work *w,
                     struct hd_error *error)
{
    if (pass->llvm)
        return hdi_llvm_passes(w->llvm, w->module, pass->llvm, error);
    if (pass->run)
        return pass->run(w, error);
    pass->change(w);
    return HD_OK;
}

// What a pass has left behind.
// The verifier is slow on long modules, hence on demand; the tests ask for it.
static hd_status observe(const struct pass *pass, const struct hdi_work *w,
                         struct hd_error *error)
{
    char *message = NULL;
    hd_status status = HD_OK;

    if (w->llvm->watch == HDI_WATCH_DUMP) {
        char *text = LLVMPrintModuleToString(w->module);
        fprintf(stderr, "; %s after '%s'\n%s\n", w->about->name, name_of(pass),
                text);
        LLVMDisposeMessage(text);
    }
    if (LLVMVerifyModule(w->module, LLVMReturnStatusAction, &message))
        status = hdi_fail(error, HD_EBUILD,
                          "%s:%u: internal error in kernel '%s' after pass "
                          "'%s': %s",
                          w->about->file, w->about->line, w->about->name,
                          name_of(pass), message);
    LLVMDisposeMessage(message);
    return status;
}

hd_status hdi_pipeline_run(struct hdi_work *w, enum hdi_stage stage,
                           struct hd_error *error)
{
    for (size_t p = 0; p < sizeof(passes) / sizeof(passes[0]); p++) {
        if (passes[p].stage != stage || !is_on(w, &passes[p]))
            continue;
        HDI_TRY(run(&passes[p], w, error));
        if (w->llvm->watch != HDI_WATCH_NOTHING)
            HDI_TRY(observe(&passes[p], w, error));
    }
    return HD_OK;
}

// The program itself is never changed, so each form and version of a kernel may
// begin with it.
hd_status hdi_work_begin(struct hdi_work *w, LLVMModuleRef program,
                         struct hd_error *error)
{
    w->module = LLVMCloneModule(program);
    w->builder = LLVMCreateBuilderInContext(w->llvm->context);
    w->kernel = LLVMGetNamedFunction(w->module, w->about->name);
    hd_status status = hdi_pipeline_run(w, HDI_STAGE_PREPARE, error);
    if (status == HD_OK)
        w->length = hdi_effort_of(w->module).instructions;
    if (status != HD_OK) {
        LLVMDisposeModule(w->module);
        w->module = NULL;
        hdi_work_end(w);
    }
    return status;
}

void hdi_work_end(struct hdi_work *w)
{
    if (w->builder)
        LLVMDisposeBuilder(w->builder);
    w->builder = NULL;
}

// Notes of the passes are collected per work-group function: they go into the
// explanation of the regions that they are about. What CUT has found is used up
// here, so that a work may come again for its next version.
hd_status hdi_pipeline_loops(struct hdi_work *w, struct hd_error *error)
{
    struct hdi_text notes = {0};

    w->cuts = (struct hdi_cuts){.flat = w->flat, .whole = w->whole};
    w->flow = (struct hdi_flow){0};
    w->llvm->notes = &notes;
    hd_status status = hdi_pipeline_run(w, HDI_STAGE_CUT, error);
    if (status == HD_OK)
        status = hdi_workgroup_build(w->llvm, w->module, &w->flow, w->about,
                                     w->explanation, w->forms, error);
    hdi_flow_destroy(&w->flow);
    end_notes(w, &notes);
    hdi_map_clear(&w->cuts.branches);
    return status;
}
