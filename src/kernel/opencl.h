// What kernels may use of OpenCL C beyond its core: what the builtins have. The
// front end defines these macros, some from OpenCL C 2.0 on, and `heddle info`
// names them.
#ifndef HDI_KERNEL_OPENCL_H
#define HDI_KERNEL_OPENCL_H

#define HDI_OPENCL_VERSIONS "1.0, 1.1, 1.2, 2.0, 3.0"

// Each of both lists with its major version.
#define HDI_OPENCL_EXTENSIONS(X)                   \
    X("cl_khr_fp64", 1)                            \
    X("cl_khr_fp16", 1)                            \
    X("cl_khr_subgroup_extended_types", 1)         \
    X("cl_khr_subgroup_non_uniform_vote", 1)       \
    X("cl_khr_subgroup_ballot", 1)                 \
    X("cl_khr_subgroup_non_uniform_arithmetic", 1) \
    X("cl_khr_subgroup_shuffle", 1)                \
    X("cl_khr_subgroup_shuffle_relative", 1)       \
    X("cl_khr_subgroup_clustered_reduce", 1)       \
    X("cl_khr_subgroup_rotate", 1)                 \
    X("cl_khr_byte_addressable_store", 1)          \
    X("cl_khr_global_int32_base_atomics", 1)       \
    X("cl_khr_global_int32_extended_atomics", 1)   \
    X("cl_khr_local_int32_base_atomics", 1)        \
    X("cl_khr_local_int32_extended_atomics", 1)    \
    X("cl_khr_int64_base_atomics", 1)              \
    X("cl_khr_int64_extended_atomics", 1)          \
    X("cl_khr_3d_image_writes", 1)                 \
    X("cl_khr_depth_images", 1)                    \
    X("cl_khr_extended_bit_ops", 1)                \
    X("cl_khr_integer_dot_product", 2)             \
    X("cl_khr_kernel_clock", 1)                    \
    X("cl_ext_float_atomics", 1)

// Of OpenCL C 3.0.
#define HDI_OPENCL_FEATURES(X)                                 \
    X("__opencl_c_images", 3)                                  \
    X("__opencl_c_read_write_images", 3)                       \
    X("__opencl_c_3d_image_writes", 3)                         \
    X("__opencl_c_fp64", 3)                                    \
    X("__opencl_c_int64", 3)                                   \
    X("__opencl_c_generic_address_space", 3)                   \
    X("__opencl_c_subgroups", 3)                               \
    X("__opencl_c_work_group_collective_functions", 3)         \
    X("__opencl_c_program_scope_global_variables", 3)          \
    X("__opencl_c_atomic_order_acq_rel", 3)                    \
    X("__opencl_c_atomic_order_seq_cst", 3)                    \
    X("__opencl_c_atomic_scope_device", 3)                     \
    X("__opencl_c_atomic_scope_all_devices", 3)                \
    X("__opencl_c_integer_dot_product_input_4x8bit", 3)        \
    X("__opencl_c_integer_dot_product_input_4x8bit_packed", 3) \
    X("__opencl_c_kernel_clock_scope_device", 3)               \
    X("__opencl_c_kernel_clock_scope_work_group", 3)           \
    X("__opencl_c_kernel_clock_scope_sub_group", 3)            \
    X("__opencl_c_ext_fp16_global_atomic_load_store", 3)       \
    X("__opencl_c_ext_fp16_local_atomic_load_store", 3)        \
    X("__opencl_c_ext_fp16_global_atomic_add", 3)              \
    X("__opencl_c_ext_fp16_local_atomic_add", 3)               \
    X("__opencl_c_ext_fp16_global_atomic_min_max", 3)          \
    X("__opencl_c_ext_fp16_local_atomic_min_max", 3)           \
    X("__opencl_c_ext_fp32_global_atomic_add", 3)              \
    X("__opencl_c_ext_fp32_local_atomic_add", 3)               \
    X("__opencl_c_ext_fp32_global_atomic_min_max", 3)          \
    X("__opencl_c_ext_fp32_local_atomic_min_max", 3)           \
    X("__opencl_c_ext_fp64_global_atomic_add", 3)              \
    X("__opencl_c_ext_fp64_local_atomic_add", 3)               \
    X("__opencl_c_ext_fp64_global_atomic_min_max", 3)          \
    X("__opencl_c_ext_fp64_local_atomic_min_max", 3)

#endif
