// Samplers.
//
// A sampler is four words that become the bits which kernels take; the object
// is there to be asked. It is constant, so that nothing locks it.
#include <string.h>

#include "heddle/image.h"
#include "icd/memory/sampler.h"
#include "icd/object/info.h"

void hdi_cl_sampler_destroy(void *object)
{
    struct _cl_sampler *sampler = object;

    free(sampler->properties);
    hdi_cl_drop(sampler->context);
}

// As kernels get them. False: no such combination.
//
// Addressing that repeats needs normalised coordinates to mean anything; that
// is not looked at here.
static bool set_bits(struct _cl_sampler *s)
{
    uint32_t bits =
        s->normalized ? HD_COORDINATES_NORMALISED : HD_COORDINATES_TEXELS;

    switch (s->addressing) {
    case CL_ADDRESS_NONE:
        bits |= HD_ADDRESS_NONE;
        break;
    case CL_ADDRESS_CLAMP_TO_EDGE:
        bits |= HD_ADDRESS_CLAMP_TO_EDGE;
        break;
    case CL_ADDRESS_CLAMP:
        bits |= HD_ADDRESS_CLAMP;
        break;
    case CL_ADDRESS_REPEAT:
        bits |= HD_ADDRESS_REPEAT;
        break;
    case CL_ADDRESS_MIRRORED_REPEAT:
        bits |= HD_ADDRESS_MIRRORED_REPEAT;
        break;
    default:
        return false;
    }
    if (s->filter != CL_FILTER_NEAREST && s->filter != CL_FILTER_LINEAR)
        return false;
    bits |=
        s->filter == CL_FILTER_NEAREST ? HD_FILTER_NEAREST : HD_FILTER_LINEAR;
    s->bits = bits;
    return s->normalized == CL_TRUE || s->normalized == CL_FALSE;
}

// `properties` are NULL of the old function; they are kept to be told again.
static cl_sampler create(cl_context context, cl_bool normalized,
                         cl_addressing_mode addressing, cl_filter_mode filter,
                         const cl_sampler_properties *properties,
                         unsigned property_count, cl_int *error)
{
    struct _cl_sampler *sampler = hdi_cl_object_create(HDI_CL_SAMPLER);
    if (!sampler)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    sampler->context = context;
    hdi_cl_hold(context);
    sampler->normalized = normalized;
    sampler->addressing = addressing;
    sampler->filter = filter;
    sampler->property_count = property_count;
    sampler->properties = calloc(property_count + 1, sizeof(*properties));
    cl_int status = !sampler->properties ? CL_OUT_OF_HOST_MEMORY
                    : !set_bits(sampler) ? CL_INVALID_VALUE
                                         : CL_SUCCESS;
    if (status != CL_SUCCESS) {
        hdi_cl_object_release(sampler);
        return hdi_cl_none(error, status);
    }
    if (property_count > 0)
        memcpy(sampler->properties, properties,
               property_count * sizeof(*properties));
    hdi_cl_good(error);
    return sampler;
}

CL_API_ENTRY cl_sampler CL_API_CALL clCreateSampler(
    cl_context context, cl_bool normalized, cl_addressing_mode addressing,
    cl_filter_mode filter, cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    return create(context, normalized, addressing, filter, NULL, 0, error);
}

CL_API_ENTRY cl_sampler CL_API_CALL clCreateSamplerWithProperties(
    cl_context context, const cl_sampler_properties *properties, cl_int *error)
{
    cl_bool normalized = CL_TRUE;
    cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
    cl_filter_mode filter = CL_FILTER_NEAREST;
    unsigned i = 0, seen = 0;

    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    for (; properties && properties[i]; i += 2) {
        unsigned which;
        switch (properties[i]) {
        case CL_SAMPLER_NORMALIZED_COORDS:
            normalized = (cl_bool)properties[i + 1];
            which = 1;
            break;
        case CL_SAMPLER_ADDRESSING_MODE:
            addressing = (cl_addressing_mode)properties[i + 1];
            which = 2;
            break;
        case CL_SAMPLER_FILTER_MODE:
            filter = (cl_filter_mode)properties[i + 1];
            which = 4;
            break;
        default:
            return hdi_cl_none(error, CL_INVALID_VALUE);
        }
        if (seen & which)
            return hdi_cl_none(error, CL_INVALID_VALUE);
        seen |= which;
    }
    return create(context, normalized, addressing, filter, properties,
                  properties ? i + 1 : 0, error);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainSampler(cl_sampler sampler)
{
    return hdi_cl_is(HDI_CL_SAMPLER, sampler) && hdi_cl_object_retain(sampler)
               ? CL_SUCCESS
               : CL_INVALID_SAMPLER;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseSampler(cl_sampler sampler)
{
    return hdi_cl_is(HDI_CL_SAMPLER, sampler) && hdi_cl_object_release(sampler)
               ? CL_SUCCESS
               : CL_INVALID_SAMPLER;
}

CL_API_ENTRY cl_int CL_API_CALL clGetSamplerInfo(cl_sampler sampler,
                                                 cl_sampler_info name,
                                                 size_t size, void *value,
                                                 size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_SAMPLER, sampler))
        return CL_INVALID_SAMPLER;
    switch (name) {
        HDI_CL_IS(CL_SAMPLER_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(sampler))
        HDI_CL_IS(CL_SAMPLER_CONTEXT, cl_context, sampler->context)
        HDI_CL_IS(CL_SAMPLER_NORMALIZED_COORDS, cl_bool, sampler->normalized)
        HDI_CL_IS(CL_SAMPLER_ADDRESSING_MODE, cl_addressing_mode,
                  sampler->addressing)
        HDI_CL_IS(CL_SAMPLER_FILTER_MODE, cl_filter_mode, sampler->filter)
        HDI_CL_BYTES(CL_SAMPLER_PROPERTIES, sampler->properties,
                     sampler->property_count * sizeof(*sampler->properties))
    default:
        return CL_INVALID_VALUE;
    }
}
