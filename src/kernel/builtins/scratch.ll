; Memory of the work-group that collective functions meet in. OpenCL C lets no
; function but a kernel have local variables.
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"
target triple = "spir64-unknown-unknown"

; One value that all fold into.
@hdu_group = addrspace(3) global [8 x i8] undef, align 8
; A value of 8 bytes for each work-item, and whether it is there. The
; work-group compiler gives as much room as there are work-items.
@hdu_lanes = addrspace(3) global [8192 x i64] undef, align 8
@hdu_present = addrspace(3) global [8192 x i8] undef, align 8

define spir_func ptr addrspace(3) @hdu_group_memory() alwaysinline {
  ret ptr addrspace(3) @hdu_group
}

define spir_func ptr addrspace(3) @hdu_lanes_memory() alwaysinline {
  ret ptr addrspace(3) @hdu_lanes
}

define spir_func ptr addrspace(3) @hdu_present_memory() alwaysinline {
  ret ptr addrspace(3) @hdu_present
}
