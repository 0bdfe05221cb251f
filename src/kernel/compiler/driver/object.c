#include "kernel/compiler/driver/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

// A remark reads "FILE:LINE:COLUMN: TEXT"; the column names the region.
static const char *remark_of(char *line, unsigned region)
{
    for (char *c = strchr(line, ':'); c; c = strchr(c + 1, ':')) {
        char *end;
        unsigned long column = strtoul(c + 1, &end, 10);
        if (column == HDI_REGION_COLUMN + region && end[0] == ':' &&
            end[1] == ' ')
            return end + 2;
    }
    return NULL;
}

// A region is several loops (rows, their rest, copies made by unswitching), so
// it may have several remarks: the widest counts, and reasons are given when
// none became vectors, each once.
static void explain_region(struct hdi_text *remarks, unsigned region,
                           struct hdi_text *explanation)
{
    static const char vectorised[] = "vectorization width: ";
    unsigned width = 1;
    struct hdi_text reasons = {0};

    for (char *line = remarks->data; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        const char *text = remark_of(line, region);
        const char *found = text ? strstr(text, vectorised) : NULL;
        if (found) {
            unsigned w =
                (unsigned)strtoul(found + sizeof(vectorised) - 1, NULL, 10);
            width = w > width ? w : width;
        } else if (text && !strstr(text, "interleav") &&
                   (!reasons.data || !strstr(reasons.data, text))) {
            hdi_text_print(&reasons, "    %s\n", text);
        }
        if (!end)
            break;
        *end = '\n';
        line = end + 1;
    }
    if (width > 1)
        hdi_text_print(explanation, "region %u: vector width %u\n", region,
                       width);
    else if (reasons.data && strstr(reasons.data, "Loop deleted"))
        hdi_text_print(explanation, "region %u: nothing to do\n", region);
    else
        hdi_text_print(explanation, "region %u: not vectorised\n%s", region,
                       reasons.data ? reasons.data : "");
    hdi_text_free(&reasons);
}

// Regions with masked lanes were made vectors by us; what LLVM says about their
// loops would be about the rest of a row.
static void explain_form(const struct hdi_form *form, struct hdi_text *remarks,
                         unsigned region, struct hdi_text *explanation)
{
    if (form->lanes > 0) {
        hdi_text_print(explanation, "region %u: vector width %u, masked lanes",
                       region, form->lanes);
        if (form->limit)
            hdi_text_print(explanation,
                           ", split where line %u compares ids with a limit",
                           form->limit);
        if (form->joint)
            hdi_text_print(explanation,
                           ", fused across the barrier in line %u where an "
                           "order of work-items replaces it",
                           form->joint);
        hdi_text_print(explanation, "\n");
        return;
    }
    if (form->lone) {
        hdi_text_print(explanation, "region %u: %s\n", region,
                       form->shared ? "it is done once for the whole group"
                                    : "one work-item of each row runs it");
        return;
    }
    if (form->reason && form->line)
        hdi_text_print(explanation, "region %u: no masked lanes: line %u: %s\n",
                       region, form->line, form->reason);
    else if (form->reason)
        hdi_text_print(explanation, "region %u: no masked lanes: %s\n", region,
                       form->reason);
    explain_region(remarks, region, explanation);
}

// LLVM tells of vectors by remarks alone, which its handler collects while
// `remarks` is set. They are written out before the status is looked at: a
// failure in CODE leaves an explanation of what there was.
hd_status hdi_object_make(struct hdi_work *work, struct hdi_text *object,
                          struct hd_error *error)
{
    struct hdi_llvm *llvm = work->llvm;
    const struct hdi_build_kernel *about = work->about;
    struct hdi_text remarks = {0};
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;

    llvm->remarks = &remarks;
    hd_status status = hdi_pipeline_run(work, HDI_STAGE_CODE, error);
    llvm->remarks = NULL;
    for (unsigned r = 0; r < work->forms->count; r++)
        explain_form(&work->forms->list[r], &remarks, r, work->explanation);
    hdi_text_free(&remarks);
    if (status != HD_OK)
        return status;

    if (LLVMTargetMachineEmitToMemoryBuffer(
            llvm->machine, work->module, LLVMObjectFile, &message, &buffer)) {
        status =
            hdi_fail(error, HD_EBUILD, "%s:%u: no code for kernel '%s': %s",
                     about->file, about->line, about->name, message);
        LLVMDisposeMessage(message);
        return status;
    }
    hdi_text_append(object, LLVMGetBufferStart(buffer),
                    LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    if (object->failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory for code", llvm->path);
    return HD_OK;
}
