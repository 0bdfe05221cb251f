// What the platform and its devices tell of themselves.
#ifndef HDI_ICD_PLATFORM_H
#define HDI_ICD_PLATFORM_H

#include "heddle/version.h"
#include "icd/object/api.h"

#define HDI_CL_STRING_(x) #x
#define HDI_CL_STRING(x)  HDI_CL_STRING_(x)
#define HDI_CL_VERSION              \
    HDI_CL_STRING(HD_VERSION_MAJOR) \
    "." HDI_CL_STRING(HD_VERSION_MINOR) "." HDI_CL_STRING(HD_VERSION_PATCH)

// A name with a version: an extension, a feature, a language. Static.
struct hdi_cl_version {
    cl_version version;
    const char *name;
};

// What the `..._WITH_VERSION` queries ask for; names are cut at 63 characters.
// As an array of cl_name_version.
cl_int hdi_cl_give_versions(const struct hdi_cl_version *list, unsigned count,
                            size_t size, void *value, size_t *size_ret);

#endif
