#include "kernel/compiler/ir/rules.h"

#include <string.h>

#include "base/error.h"

static const char *const names[HDI_RULES] = {
#define NAME_OF(rule, name) name,
    HDI_RULES_ALL(NAME_OF)
#undef NAME_OF
};

const char *hdi_rule_name(enum hdi_rule rule)
{
    return names[rule];
}

static unsigned find(const char *name, size_t length)
{
    unsigned r = 0;

    while (r < HDI_RULES &&
           (strlen(names[r]) != length || memcmp(names[r], name, length) != 0))
        r++;
    return r;
}

static hd_status fail_name(const struct hdi_llvm *llvm, const char *name,
                           size_t length, struct hd_error *error)
{
    struct hdi_text all = {0};

    for (unsigned r = 0; r < HDI_RULES; r++)
        hdi_text_print(&all, "%s%s", r > 0 ? ", " : "", names[r]);
    hdi_fail(error, HD_EINVAL,
             "%s: " HDI_WITHOUT_OPTION "%.*s: there is no such rule of the "
             "compiler; there are %s",
             llvm->path, (int)length, name, all.failed ? "others" : all.data);
    hdi_text_free(&all);
    return HD_EINVAL;
}

// Those before a name that is not known stay left out; the build fails anyway.
hd_status hdi_rules_leave_out(struct hdi_llvm *llvm, const char *list,
                              struct hd_error *error)
{
    for (const char *name = list; *name; name += strspn(name, ",")) {
        size_t length = strcspn(name, ",");
        unsigned rule = find(name, length);
        if (rule == HDI_RULES)
            return fail_name(llvm, name, length, error);
        llvm->without |= UINT64_C(1) << rule;
        name += length;
    }
    return HD_OK;
}
