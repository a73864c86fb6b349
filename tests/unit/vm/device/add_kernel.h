// A kernel as PTX, written by hand: y[i] = x[i] + scalars[0], bytes; fault 3 at units below scalars[1].
// Parameters as dyn_device.h has them.
#pragma once

namespace dyn::vm {

inline constexpr const char* kAddPtx = R"(.version 7.0
.target sm_75
.address_size 64

.visible .entry add(
	.param .u64 add_param_0,
	.param .u64 add_param_1,
	.param .u64 add_param_2,
	.param .u64 add_param_3,
	.param .u64 add_param_4,
	.param .u64 add_param_5,
	.param .u64 add_param_6
)
{
	.reg .pred 	%p<3>;
	.reg .b16 	%rs<4>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<16>;

	ld.param.u64 	%rd1, [add_param_0];
	ld.param.u64 	%rd2, [add_param_1];
	ld.param.u64 	%rd3, [add_param_2];
	ld.param.u64 	%rd4, [add_param_3];
	ld.param.u64 	%rd5, [add_param_4];
	ld.param.u64 	%rd6, [add_param_5];
	ld.param.u64 	%rd7, [add_param_6];
	cvt.u16.u64 	%rs3, %rd3;
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	mov.u32 	%r3, %tid.x;
	mad.lo.s32 	%r4, %r1, %r2, %r3;
	cvt.s64.s32 	%rd8, %r4;
	mov.u32 	%r5, %nctaid.x;
	mul.lo.s32 	%r6, %r5, %r2;
	cvt.s64.s32 	%rd9, %r6;
$L_turn:
	setp.ge.s64 	%p1, %rd8, %rd5;
	@%p1 bra 	$L_done;
	setp.ge.s64 	%p2, %rd8, %rd4;
	@%p2 bra 	$L_fine;
	shl.b64 	%rd10, %rd7, 32;
	or.b64  	%rd11, %rd10, 3;
	atom.global.min.u64 	%rd12, [%rd6], %rd11;
	bra.uni 	$L_done;
$L_fine:
	add.s64 	%rd13, %rd1, %rd8;
	ld.global.u8 	%rs1, [%rd13];
	add.s16 	%rs2, %rs1, %rs3;
	add.s64 	%rd14, %rd2, %rd8;
	st.global.u8 	[%rd14], %rs2;
	add.s64 	%rd8, %rd8, %rd9;
	bra.uni 	$L_turn;
$L_done:
	ret;
}
)";

}  // namespace dyn::vm
