// What kernels may use of OpenCL C beyond its core: what the builtins have. The
// front end defines these macros, some from OpenCL C 2.0 on, and `heddle info`
// names them.
#ifndef HDI_KERNEL_OPENCL_H
#define HDI_KERNEL_OPENCL_H

#define HDI_OPENCL_VERSIONS "1.0, 1.1, 1.2, 2.0, 3.0"

#define HDI_OPENCL_EXTENSIONS(X)                \
    X("cl_khr_fp64")                            \
    X("cl_khr_fp16")                            \
    X("cl_khr_subgroup_extended_types")         \
    X("cl_khr_subgroup_non_uniform_vote")       \
    X("cl_khr_subgroup_ballot")                 \
    X("cl_khr_subgroup_non_uniform_arithmetic") \
    X("cl_khr_subgroup_shuffle")                \
    X("cl_khr_subgroup_shuffle_relative")       \
    X("cl_khr_subgroup_clustered_reduce")       \
    X("cl_khr_subgroup_rotate")                 \
    X("cl_khr_byte_addressable_store")          \
    X("cl_khr_global_int32_base_atomics")       \
    X("cl_khr_global_int32_extended_atomics")   \
    X("cl_khr_local_int32_base_atomics")        \
    X("cl_khr_local_int32_extended_atomics")    \
    X("cl_khr_int64_base_atomics")              \
    X("cl_khr_int64_extended_atomics")          \
    X("cl_khr_3d_image_writes")                 \
    X("cl_khr_depth_images")                    \
    X("cl_khr_extended_bit_ops")                \
    X("cl_khr_integer_dot_product")             \
    X("cl_khr_kernel_clock")                    \
    X("cl_ext_float_atomics")

// Of OpenCL C 3.0.
#define HDI_OPENCL_FEATURES(X)                              \
    X("__opencl_c_images")                                  \
    X("__opencl_c_read_write_images")                       \
    X("__opencl_c_3d_image_writes")                         \
    X("__opencl_c_fp64")                                    \
    X("__opencl_c_int64")                                   \
    X("__opencl_c_generic_address_space")                   \
    X("__opencl_c_subgroups")                               \
    X("__opencl_c_work_group_collective_functions")         \
    X("__opencl_c_program_scope_global_variables")          \
    X("__opencl_c_atomic_order_acq_rel")                    \
    X("__opencl_c_atomic_order_seq_cst")                    \
    X("__opencl_c_atomic_scope_device")                     \
    X("__opencl_c_atomic_scope_all_devices")                \
    X("__opencl_c_integer_dot_product_input_4x8bit")        \
    X("__opencl_c_integer_dot_product_input_4x8bit_packed") \
    X("__opencl_c_kernel_clock_scope_device")               \
    X("__opencl_c_kernel_clock_scope_work_group")           \
    X("__opencl_c_kernel_clock_scope_sub_group")            \
    X("__opencl_c_ext_fp16_global_atomic_load_store")       \
    X("__opencl_c_ext_fp16_local_atomic_load_store")        \
    X("__opencl_c_ext_fp16_global_atomic_add")              \
    X("__opencl_c_ext_fp16_local_atomic_add")               \
    X("__opencl_c_ext_fp16_global_atomic_min_max")          \
    X("__opencl_c_ext_fp16_local_atomic_min_max")           \
    X("__opencl_c_ext_fp32_global_atomic_add")              \
    X("__opencl_c_ext_fp32_local_atomic_add")               \
    X("__opencl_c_ext_fp32_global_atomic_min_max")          \
    X("__opencl_c_ext_fp32_local_atomic_min_max")           \
    X("__opencl_c_ext_fp64_global_atomic_add")              \
    X("__opencl_c_ext_fp64_local_atomic_add")               \
    X("__opencl_c_ext_fp64_global_atomic_min_max")          \
    X("__opencl_c_ext_fp64_local_atomic_min_max")

#endif
