"""The names of operators that may stand in an archive's code, and how each is written in Python.

Plain words only: this file is read by ``inspect`` too, which runs without torch.
"""

from __future__ import annotations

import ast


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators of two arguments that Python writes with a sign of the same meaning, on numbers and texts too.
INFIX: dict[str, ast.operator] = {
    "aten::add": ast.Add(),
    "aten::sub": ast.Sub(),
    "aten::mul": ast.Mult(),
    "aten::floordiv": ast.FloorDiv(),
    "aten::remainder": ast.Mod(),
    "aten::__and__": ast.BitAnd(),
    "aten::__or__": ast.BitOr(),
    "aten::__xor__": ast.BitXor(),
    "aten::__lshift__": ast.LShift(),
    "aten::__rshift__": ast.RShift(),
}
COMPARE: dict[str, ast.cmpop] = {
    "aten::eq": ast.Eq(),
    "aten::ne": ast.NotEq(),
    "aten::lt": ast.Lt(),
    "aten::gt": ast.Gt(),
    "aten::le": ast.LtE(),
    "aten::ge": ast.GtE(),
    "aten::__is__": ast.Is(),
    "aten::__isnot__": ast.IsNot(),
}
CONTAINS = "aten::__contains__"
UNARY: dict[str, ast.unaryop] = {"aten::neg": ast.USub(), "aten::__not__": ast.Not()}

# Arguments that TorchScript writes as integers or names, and the helper that makes torch's value of them.
CONVERTED = {
    "dtype": "as_dtype",
    "layout": "as_layout",
    "memory_format": "as_memory_format",
    "device": "as_device",
}
# Types that ``isinstance`` may be asked about: words, and containers with the types of their parts.
TYPES = frozenset(
    {"Tensor", "int", "float", "number", "complex", "bool", "str", "NoneType", "Device", "list", "tuple"}
)
CONTAINERS = ("List", "Dict", "Tuple", "Optional")

# Operators with a function of ours, in the files ``_operators_*``.
FUNCTIONS = _words(
    """
    append extend insert pop remove reverse clear _set_item __getitem__ str device Delete count copy list
    dict keys values items get setdefault update popitem sort sorted add_ mul_ split join format
    percentFormat ord chr hex oct bin hash __range_length __derive_index upper lower title capitalize
    swapcase center ljust rjust zfill partition rpartition splitlines rsplit expandtabs isdigit isalpha
    isalnum isdecimal isnumeric islower isupper istitle isspace isprintable isidentifier find rfind rindex
    strip lstrip rstrip replace startswith endswith exp log log2 log10 log1p expm1 sin cos tan asin acos
    atan sinh cosh tanh asinh acosh atanh lgamma gamma erf erfc degrees radians fabs atan2 fmod copysign
    ldexp mathremainder sqrt floor ceil round trunc abs isnan isinf isfinite gcd modf frexp sum any all
    factorial divmod div pow max min eq ne size sym_size len slice select index index_put index_put_ to
    tensor as_tensor view softmax log_softmax contiguous cpu cuda warn wait item Int Float Bool
    IntImplicit FloatImplicit ScalarImplicit norm element_size where is_grad_enabled set_grad_enabled
    result_type numpy_T mT mH matrix_H broadcast_shapes is_autocast_enabled is_autocast_cpu_enabled
    manual_seed quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize qscheme
    quantized_lstm quantized_gru is_contiguous is_leaf stride angle Complex ComplexImplicit can_cast
    promote_types pin_memory
    """
)

# Primitives that an archive may name as ``ops.prim.…``.
PRIMITIVES = _words(
    """
    device data requires_grad is_cuda is_cpu is_meta is_sparse is_quantized is_mkldnn is_mps is_xpu
    is_nested grad ndim itemsize nbytes T mT H mH is_leaf dtype shape layout index type min max abs
    NumToTensor ImplicitTensorToNum RaiseException unchecked_unwrap_optional rangelist id name is_xla
    is_ipu is_vulkan is_mtia is_sparse_csr record recorded
    """
)

# Primitives of bytecode that code writes as signs or not at all.
SILENT = _words(
    """
    prim::TupleIndex prim::DictIndex prim::TupleUnpack prim::Uninitialized prim::unchecked_cast prim::tolist
    prim::Print
    """
)

# Operators of torch that take their arguments as TorchScript writes them.
PLAIN = _words(
    """
    __iand__ __ilshift__ __ior__ __irshift__ __ixor__ _adaptive_avg_pool2d _adaptive_avg_pool3d _add_relu
    _add_relu_ _addmm_activation _aminmax _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half
    _cast_Int _cast_Long _cast_Short _conj _conj_copy _convolution _convolution_mode _dim_arange
    _embedding_bag _euclidean_dist _fft_c2c _fft_c2r _fft_r2c _is_all_true _is_any_true _linalg_det
    _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_svd _local_scalar_dense _log_softmax
    _masked_softmax _native_batch_norm_legit _native_batch_norm_legit_no_training
    _native_multi_head_attention _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
    _pack_padded_sequence _pad_circular _pad_enum _pad_packed_sequence _safe_softmax
    _scaled_dot_product_attention_math _shape_as_tensor _softmax _stack _to_copy
    _transformer_encoder_layer_fwd _trilinear _unique _unique2 _unsafe_view _upsample_bicubic2d_aa
    _upsample_bilinear2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d _weight_norm _weight_norm_interface abs_ absolute absolute_ acos_ acosh_
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d add addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr
    addr_ adjoint affine_grid_generator alias alias_copy allclose alpha_dropout alpha_dropout_ amax amin
    aminmax arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_
    arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ as_strided_copy
    as_strided_scatter asin_ asinh_ atan2_ atan_ atanh_ atleast_1d atleast_2d atleast_3d avg_pool1d
    avg_pool2d avg_pool3d baddbmm baddbmm_ bartlett_window batch_norm bernoulli bernoulli_ bilinear
    binary_cross_entropy binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_and_
    bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_
    bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ blackman_window block_diag bmm
    broadcast_tensors broadcast_to bucketize cartesian_prod cat cauchy cauchy_ cdist ceil_ celu celu_
    chain_matmul channel_shuffle cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max
    clamp_max_ clamp_min clamp_min_ clip clip_ clone coalesce col2im column_stack combinations complex
    concat concatenate conj conj_physical conj_physical_ constant_pad_nd conv1d conv2d conv3d
    conv_depthwise3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution copy_ copysign_
    corrcoef cos_ cosh_ cosine_embedding_loss cosine_similarity count_nonzero cov cross cross_entropy_loss
    ctc_loss cummax cummin cumprod cumprod_ cumsum cumsum_ cumulative_trapezoid deg2rad deg2rad_ dense_dim
    det detach detach_ detach_copy diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff
    digamma digamma_ dim dist div_ divide divide_ dot dropout dropout_ dsplit dstack einsum elu elu_
    embedding embedding_bag embedding_renorm_ empty empty_like empty_permuted empty_strided eq_ equal erf_
    erfc_ erfinv erfinv_ exp2 exp2_ exp_ expand expand_as expand_copy expm1_ exponential exponential_ eye
    fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask
    fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask feature_alpha_dropout
    feature_alpha_dropout_ feature_dropout feature_dropout_ fft_fft fft_fft2 fft_fftfreq fft_fftn
    fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft
    fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fill
    fill_ fill_diagonal_ fix fix_ flatten flip fliplr flipud float_power float_power_ floor_ floor_divide
    floor_divide_ fmax fmin fmod_ frac frac_ fractional_max_pool2d fractional_max_pool3d frobenius_norm full
    full_like gather gcd_ ge ge_ gelu gelu_ geometric geometric_ geqrf ger get_device glu gradient greater
    greater_ greater_equal greater_equal_ grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru
    gru_cell gt gt_ hamming_window hann_window hardshrink hardsigmoid hardsigmoid_ hardswish hardswish_
    hardtanh hardtanh_ heaviside heaviside_ hinge_embedding_loss histc histogram histogramdd hsplit hspmm
    hstack huber_loss hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ im2col imag index_add index_add_
    index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select initial_seed inner
    instance_norm int_repr inverse is_coalesced is_complex is_conj is_distributed is_floating_point
    is_inference is_neg is_nonzero is_pinned is_same_size is_signed isclose isin isneginf isposinf isreal
    istft kaiser_window kl_div kron kthvalue l1_loss layer_norm lcm lcm_ ldexp_ le le_ leaky_relu
    leaky_relu_ lerp lerp_ less less_ less_equal less_equal_ lgamma_ lift_fresh linalg__powsum
    linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cross linalg_det linalg_diagonal linalg_eig
    linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex
    linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor
    linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp linalg_matrix_norm
    linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv linalg_qr linalg_slogdet
    linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_tensorinv
    linalg_tensorsolve linalg_vander linalg_vecdot linalg_vector_norm linear linspace log10_ log1p_ log2_
    log_ log_normal log_normal_ log_sigmoid log_sigmoid_forward logaddexp logaddexp2 logcumsumexp logdet
    logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ logit
    logit_ logspace logsumexp lstm lstm_cell lt lt_ lu_solve lu_unpack margin_ranking_loss masked_fill
    masked_fill_ masked_scatter masked_scatter_ masked_select matmul matrix_exp matrix_power max_pool1d
    max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices
    max_unpool2d max_unpool3d maximum mean median meshgrid minimum mish mish_ mm mode moveaxis movedim
    mse_loss msort mul multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward multinomial
    multiply multiply_ mv mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum
    narrow narrow_copy native_batch_norm native_channel_shuffle native_dropout native_group_norm
    native_layer_norm native_norm ne_ neg neg_ negative negative_ new_empty new_empty_strided new_full
    new_ones new_zeros nextafter nextafter_ nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward
    nll_loss_nd nonzero nonzero_numpy nonzero_static norm_except_dim normal normal_ not_equal not_equal_
    nuclear_norm numel one_hot ones ones_like orgqr ormqr outer pad pad_sequence pairwise_distance pdist
    permute permute_copy pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma
    polygamma_ positive pow_ prelu prod put put_ q_per_channel_axis q_per_channel_scales
    q_per_channel_zero_points q_scale q_zero_point qr quantile quantized_batch_norm quantized_max_pool1d
    quantized_max_pool2d quantized_max_pool3d rad2deg rad2deg_ rand rand_like randint randint_like randn
    randn_like random random_ randperm range ravel real reciprocal reciprocal_ reflection_pad1d
    reflection_pad2d reflection_pad3d relu relu6 relu6_ relu_ remainder remainder_ renorm renorm_ repeat
    repeat_interleave replication_pad1d replication_pad2d replication_pad3d requires_grad_ reshape
    reshape_as resolve_conj resolve_neg retain_grad rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
    roll rot90 round_ row_stack rrelu rrelu_ rrelu_with_noise rrelu_with_noise_ rsqrt rsqrt_ rsub
    scalar_tensor scaled_dot_product_attention scatter scatter_ scatter_add scatter_add_ scatter_reduce
    scatter_reduce_ searchsorted select_copy select_scatter selu selu_ sgn sgn_ sigmoid sigmoid_ sign sign_
    signbit silu silu_ sin_ sinc sinc_ sinh_ slice_copy slice_inverse slice_scatter slogdet smm
    smooth_l1_loss soft_margin_loss softplus softshrink sparse_coo_tensor sparse_dim special_airy_ai
    special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
    special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2
    special_expit special_expm1 special_gammainc special_gammaincc special_gammaln
    special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e special_i1 special_i1e
    special_laguerre_polynomial_l special_legendre_polynomial_p special_log1p special_log_ndtr
    special_log_softmax special_logit special_logsumexp special_modified_bessel_i0
    special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln
    special_ndtr special_ndtri special_polygamma special_psi special_round special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w special_sinc special_softmax special_spherical_bessel_j0
    special_xlog1py special_xlogy special_zeta split_copy split_with_sizes split_with_sizes_copy sqrt_
    square square_ squeeze squeeze_ squeeze_copy sspaddmm stack std std_mean stft storage_offset sub sub_
    subtract subtract_ sum_to_size svd swapaxes swapaxes_ swapdims swapdims_ sym_numel sym_storage_offset t
    t_ t_copy take take_along_dim tan_ tanh_ tensor_split tensordot threshold threshold_ tile to_dense
    to_padded_tensor to_sparse topk trace transpose transpose_ transpose_copy trapezoid trapz
    triangular_solve tril tril_ tril_indices triplet_margin_loss triu triu_ triu_indices true_divide
    true_divide_ trunc_ type_as unbind unbind_copy unflatten unfold unfold_copy uniform uniform_
    unique_consecutive unique_dim unique_dim_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes
    unsqueeze unsqueeze_ unsqueeze_copy upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d vander var var_mean vdot
    view_as view_as_complex view_as_real view_copy vsplit vstack xlogy xlogy_ zero zero_ zeros zeros_like
    """
)

# Those of them that give a list in TorchScript, and a tuple in Python.
LIST_RESULTS = _words(
    """
    chunk split_with_sizes unbind meshgrid broadcast_tensors tensor_split hsplit vsplit dsplit gradient
    unsafe_chunk unsafe_split atleast_1d atleast_2d atleast_3d unsafe_split_with_sizes split_copy
    split_with_sizes_copy unbind_copy nonzero_numpy
    """
)

# Those with a ``reduction``, which is a mean where it is left out, and in torch's Python binding none at all.
REDUCED = _words(
    """
    binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy_loss
    ctc_loss hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss
    multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd smooth_l1_loss soft_margin_loss
    triplet_margin_loss
    """
)

# Operators of other name spaces, all of them with functions of ours or of torch's.
OTHERS = {
    "quantized": _words(
        """
        add add_relu add_scalar add_scalar_relu mul mul_relu mul_scalar mul_scalar_relu matmul cat cat_relu
        batch_norm batch_norm1d batch_norm1d_relu batch_norm2d batch_norm2d_relu batch_norm3d
        batch_norm3d_relu batch_norm_relu celu clamp dropout elu group_norm hardswish instance_norm layer_norm
        leaky_relu max_pool1d max_pool2d prelu relu6 sigmoid softmax threshold conv1d conv1d_relu
        conv1d_dynamic conv2d conv2d_relu conv2d_add conv2d_add_relu conv2d_dynamic conv3d conv3d_relu
        conv3d_dynamic conv_transpose1d conv_transpose1d_dynamic conv_transpose2d conv_transpose2d_dynamic
        conv_transpose3d conv_transpose3d_dynamic conv1d_prepack conv2d_prepack conv3d_prepack conv_prepack
        conv_transpose1d_prepack conv_transpose2d_prepack conv_transpose3d_prepack conv1d_unpack conv2d_unpack
        conv3d_unpack conv_unpack conv_transpose1d_unpack conv_transpose2d_unpack conv_transpose3d_unpack
        conv2d_stride conv2d_padding conv2d_output_padding conv2d_dilation conv2d_groups conv2d_transpose
        conv3d_stride conv3d_padding conv3d_output_padding conv3d_dilation conv3d_groups conv3d_transpose
        linear linear_relu linear_leaky_relu linear_tanh linear_dynamic linear_relu_dynamic
        linear_dynamic_fp16 linear_relu_dynamic_fp16 linear_prepack linear_prepack_fp16 linear_unpack
        linear_unpack_fp16 embedding_byte embedding_4bit embedding_bag_byte embedding_bag_4bit
        embedding_bag_prepack embedding_bag_unpack make_quantized_cell_params_dynamic
        make_quantized_cell_params_fp16 quantized_lstm_cell_dynamic quantized_gru_cell_dynamic
        quantized_rnn_relu_cell_dynamic quantized_rnn_tanh_cell_dynamic
        """
    ),
    "prepacked": _words(
        """
        linear_clamp_prepack linear_clamp_run conv2d_clamp_prepack conv2d_clamp_run
        conv2d_transpose_clamp_prepack conv2d_transpose_clamp_run
        """
    ),
}
# Classes of torch's own that archives hold objects of, below ``__torch__.torch.classes``, and the methods
# of theirs that code may call.
PACKED_PREFIX = "__torch__.torch.classes."
PACKED = _words(
    """
    quantized.LinearPackedParamsBase quantized.Conv2dPackedParamsBase quantized.Conv3dPackedParamsBase
    quantized.EmbeddingPackedParamsBase rnn.CellParamsBase xnnpack.LinearOpContext xnnpack.Conv2dOpContext
    xnnpack.TransposeConv2dOpContext
    """
)
PACKED_METHODS = _words("unpack stride padding output_padding dilation groups transpose bit_rate version")

# Operators that stand for another: the profiler is told nothing.
RENAMED = {
    "aten::_unwrap_optional": "prim::unchecked_unwrap_optional",
    "profiler::_record_function_enter": "prim::record",
    "profiler::_record_function_enter_new": "prim::record",
    "profiler::_record_function_exit": "prim::record",
    "profiler::_call_end_callbacks_on_jit_fut": "prim::recorded",
}

_SIGNS = INFIX.keys() | COMPARE.keys() | UNARY.keys() | {CONTAINS}


def unsupported(name: str) -> str | None:
    """Why the operator ``name`` (``aten::relu``) cannot be run, as a hint; None where it can."""
    space, _, short = RENAMED.get(name, name).partition("::")
    if space == "prim" and short in PRIMITIVES:
        return None
    if space == "aten" and (short in FUNCTIONS or short in PLAIN or name in _SIGNS):
        return None
    if short in OTHERS.get(space, ()):
        return None
    if space not in ("aten", "prim", *OTHERS):
        return f"it belongs to another library ({space}); export the original model with torch.export instead"
    return "export the original model with torch.export instead, or ask for the operator in an issue"
