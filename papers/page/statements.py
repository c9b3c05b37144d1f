"""Statements of the five papers, what became of each, and the test that shows it."""

from __future__ import annotations

from papers.page.items import Statement

__all__ = ["STATEMENTS"]

_PRINTED = {
    "Retraining": (
        (
            "Theorem 4.1",
            "with 1/8 in the exponent, not 1/4",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_theorem_4_1",
        ),
        (
            "Theorem 4.1, (4.6)",
            "the printed exponent does not follow",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_the_printed_exponent_does_not_follow_from_its_proof",
        ),
        (
            "Theorem 4.2",
            "with the corrected exponent",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_theorem_4_2",
        ),
        (
            "Remark 4.3",
            "in the stated regime",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_remark_4_3_the_exponents_match_in_the_stated_regime",
        ),
        (
            "Corollary 4.4",
            "with 16 lambda_max^2",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_corollary_4_4",
        ),
        (
            "Corollary 4.4, as printed",
            "false",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_the_printed_corollary_4_4_is_false",
        ),
        (
            "Theorem 4.6",
            "false: features alone reveal the mean",
            "tests/papers/label_retraining/test_theory.py",
            "test_features_alone_reveal_the_mean",
        ),
        (
            "Theorems 4.8 and 4.9",
            "false",
            "tests/papers/label_retraining/test_theory_retraining.py",
            "test_theorem_4_9_fails_in_reach",
        ),
        (
            "Remark 4.10, window (4.9)",
            "false: retraining can hurt inside",
            "tests/papers/label_retraining/test_theory_retraining.py",
            "test_retraining_hurts_inside_the_window",
        ),
        ("Lemma C.1", "holds", "tests/papers/label_retraining/test_theory_bounds.py", "test_lemma_c_1"),
        ("Lemmas D.1 to D.3", "hold", "tests/papers/label_retraining/test_theory_bounds.py", "test_lemma_d_1"),
        (
            "Lemma E.1",
            "false",
            "tests/papers/label_retraining/test_theory_retraining.py",
            "test_lemma_e_1_is_false_where_all_its_assumptions_hold",
        ),
        (
            "Lemma E.2",
            "where it is used; its > 0 needs d >= 7 and beta >= 2 lambda_max d/gamma^2",
            "tests/papers/label_retraining/test_theory_bounds.py",
            "test_lemma_e_2",
        ),
        (
            "(E.7)",
            "its terms are not independent given beta",
            "tests/papers/label_retraining/test_theory_retraining.py",
            "test_terms_that_e_7_takes_as_independent_are_not",
        ),
        ("Lemma E.3", "holds", "tests/papers/label_retraining/test_theory_bounds.py", "test_lemma_e_3"),
        (
            "Table 7, 32.52% at epsilon 0.3",
            "cannot be plain randomized response",
            "tests/papers/label_retraining/test_theory_retraining.py",
            "test_a_printed_accuracy_of_the_labels_cannot_be_plain_randomized_response",
        ),
    ),
    "Bags": (
        (
            "Theorem 1",
            "the gradient from totals is that of labels",
            "tests/bags/test_additive.py",
            "test_the_gradient_is_that_of_individual_labels",
        ),
        (
            "Theorem 1, 1,000 steps",
            "the model is that of the labels",
            "tests/bags/test_additive.py",
            "test_the_model_after_1000_steps_is_that_of_the_labels",
        ),
        (
            "Theorem 2, plug-in estimator",
            "biased; the U-statistic is not",
            "tests/bags/test_random_bags.py",
            "test_the_u_statistic_is_unbiased_and_the_printed_form_is_not",
        ),
        (
            "Theorem 2, bound (6)",
            "with factors K and 2",
            "tests/papers/label_bags/test_theory.py",
            "test_the_whole_bound_holds_and_is_not_vacuous_for_small_bags",
        ),
        (
            "bound (6), as printed",
            "exceeds 1 on ordinary sizes",
            "tests/papers/label_bags/test_theory.py",
            "test_the_bound_as_printed_is_pinned_and_vacuous",
        ),
        ("Lemma 1", "holds, by enumeration", "tests/papers/label_bags/test_theory.py", "test_lemma_1_by_enumeration"),
        (
            "Lemma 2",
            "with (1 - 1/m) N/(N-1)",
            "tests/papers/label_bags/test_theory.py",
            "test_lemma_2_holds_with_the_corrected_constant_and_not_as_printed",
        ),
        ("Lemmas 3 and 4", "hold", "tests/papers/label_bags/test_theory.py", "test_lemma_3_on_random_instances"),
        (
            "Lemmas 5 and 6",
            "with a factor K",
            "tests/papers/label_bags/test_theory.py",
            "test_lemmas_5_and_6_need_the_factor_k",
        ),
        ("(25)", "with a factor 2", "tests/papers/label_bags/test_theory.py", "test_equation_25_needs_the_factor_2"),
        ("Lemma 7", "corrected", "tests/papers/label_bags/test_theory.py", "test_lemma_7_over_a_class"),
    ),
    "Feature release": (
        (
            "Theorem 6: error of the rule under noise",
            "by simulation",
            "tests/papers/private_fisher/test_theory.py",
            "test_error_of_the_independence_rule_by_simulation",
        ),
        (
            "Theorem 8: selection finds the right features",
            "with stated constants",
            "tests/papers/private_fisher/test_theory.py",
            "test_selection_margin_bounds_the_failures",
        ),
        (
            "Lemma 2 (A.3)",
            "holds, by simulation",
            "tests/papers/private_fisher/test_theory.py",
            "test_moderate_deviations_of_the_t_statistic",
        ),
        (
            "Algorithm 1",
            "not private as printed",
            "tests/papers/private_fisher/test_printed_release.py",
            "test_the_printed_algorithm_carries_no_guarantee_and_its_noise_is_too_small",
        ),
    ),
    "Scores": (
        (
            "Proposition 1, Theorem 2",
            "hold",
            "tests/papers/score_attacks/test_robust_inference.py",
            "test_proposition_1_and_theorem_2_labels_are_recovered_if_and_only_if_the_gap_is_two_tau",
        ),
        (
            "Corollary 1",
            "with Theorem 3's k = 1..K",
            "tests/papers/score_attacks/test_robust_inference.py",
            "test_corollary_1_labels_from_one_cross_entropy",
        ),
        (
            "Theorem 3",
            "with k = 1..K",
            "tests/papers/score_attacks/test_separation.py",
            "test_theorem_3_needs_k_from_1",
        ),
        (
            "Theorem 4, as printed",
            "false",
            "tests/papers/score_attacks/test_separation.py",
            "test_theorem_4_as_printed_admits_a_collision",
        ),
        (
            "Theorem 4, corrected",
            "superincreasing differences",
            "tests/papers/score_attacks/test_separation.py",
            "test_theorem_4_corrected",
        ),
        (
            "Theorem 5",
            "with N, not M",
            "tests/papers/score_attacks/test_separation.py",
            "test_theorem_5_keeps_the_factor_n",
        ),
        (
            "Theorem 6",
            "holds",
            "tests/papers/score_attacks/test_robust_inference.py",
            "test_theorem_6_scores_differ_if_and_only_if_subset_sums_do",
        ),
        (
            "Theorem 7",
            "with h'(1 - t) - h'(t)",
            "tests/scores/test_losses.py",
            "test_theorem_7_has_a_difference_of_derivatives",
        ),
        (
            "Theorem 8",
            "false as printed; holds for tau < alpha/(N 2^N)",
            "tests/papers/score_attacks/test_separation.py",
            "test_theorem_8_as_printed_collides_and_corrected_holds",
        ),
        (
            "Theorem 9",
            "for inputs in (0, 1), as stated",
            "tests/papers/score_attacks/test_network.py",
            "test_outputs_are_the_wanted_predictions_in_numpy_torch_and_onnx",
        ),
        ("Corollaries 2 and 3", "hold", "tests/papers/score_attacks/test_separation.py", "test_corollary_2_holds"),
        (
            "Theorem 10, Lemma 2",
            "the reduction, corrected",
            "tests/papers/score_attacks/test_theory.py",
            "test_theorem_10_corrected_separable_if_and_only_if_at_most_one_model",
        ),
        (
            "Lemma 1",
            "false",
            "tests/papers/score_attacks/test_theory.py",
            "test_lemma_1_is_false_almost_tautologies_in_cnf_are_decided_in_polynomial_time",
        ),
        (
            "Theorem 11",
            "from two rows on",
            "tests/papers/score_attacks/test_theory.py",
            "test_theorem_11_holds_from_two_rows_on",
        ),
        (
            "Theorem 12, Corollary 4",
            "without the half",
            "tests/papers/score_attacks/test_theory.py",
            "test_theorem_12_has_no_half",
        ),
        (
            "Theorem 13",
            "true, and weaker than counting",
            "tests/papers/score_attacks/test_theory.py",
            "test_theorem_13_is_weaker_than_counting",
        ),
        (
            "Theorem 14",
            "with the exponent 2^i N tau",
            "tests/papers/score_attacks/test_separation.py",
            "test_theorem_14_read_literally_collides",
        ),
        (
            "Propositions 2 and 3",
            "false",
            "tests/papers/score_attacks/test_separation.py",
            "test_proposition_2_fails_on_a_grid",
        ),
        (
            "Appendix E",
            "the K-ary prime matrix",
            "tests/papers/score_attacks/test_theory.py",
            "test_prime_matrix_of_appendix_e",
        ),
        (
            "Appendix G",
            "needs the whole set as one input",
            "tests/papers/score_attacks/test_network.py",
            "test_row_by_row_host_tells_only_class_counts_to_the_first_form",
        ),
    ),
    "Networks": (
        (
            "Theorem 2.1",
            "logistic loss: below log(2)/n",
            "tests/models/test_margin_training.py",
            "test_a_logistic_loss_below_one_nth_may_have_a_point_on_the_wrong_side",
        ),
        (
            "Theorem 3.1",
            "x = w/b",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_theorem_3_1_reads_the_point_off_the_neuron",
        ),
        (
            "Theorem 3.1, at 0",
            "false as printed",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_theorem_3_1_as_printed_fails_at_zero",
        ),
        (
            "Theorem 3.2",
            "holds",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_theorem_3_2_every_window_holds_a_training_point",
        ),
        (
            "Theorem 3.3",
            "with the other sign",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_theorem_3_3_printed_sign",
        ),
        (
            "Theorem 3.4",
            "a quarter in disjoint windows",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_theorem_3_4_disjoint_windows_keep_the_quarter",
        ),
        (
            "Theorem 3.4, sliding windows",
            "a sixth",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_theorem_3_4_overlapping_windows_give_a_sixth",
        ),
        (
            "Lemma A.1",
            "in open gaps",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_lemma_a1_in_open_gaps",
        ),
        (
            "Lemma A.1, as printed",
            "false in closed gaps",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_lemma_a1_as_printed_fails_in_closed_gaps",
        ),
        (
            "Lemma A.2",
            "with a count of 5n + 2",
            "tests/papers/margin_membership/test_univariate_theory.py",
            "test_lemma_a2_bounds_the_margin",
        ),
        (
            "Theorem 4.2",
            "with delta_x + 1",
            "tests/papers/margin_membership/test_orthogonal.py",
            "test_theorem_42_needs_the_one_beside_delta",
        ),
        (
            "Corollary 4.3",
            "membership in 1,000 dimensions",
            "tests/models/test_margin_attack.py",
            "test_membership_in_a_thousand_dimensions",
        ),
        (
            "Corollary 4.4",
            "a leaked point among candidates",
            "tests/models/test_margin_attack.py",
            "test_a_leaked_point_among_candidates",
        ),
        (
            "Corollary 4.5, Remark B.5",
            "a bounded margin",
            "tests/models/test_margin_attack.py",
            "test_a_bounded_margin",
        ),
        (
            "Lemma B.1",
            "false as printed",
            "tests/papers/margin_membership/test_orthogonal.py",
            "test_lemma_b1_as_printed_is_false",
        ),
        (
            "Lemma B.2",
            "false as printed",
            "tests/papers/margin_membership/test_orthogonal.py",
            "test_lemma_b2_as_printed_is_false",
        ),
        (
            "Lemmas B.3 and B.4",
            "hold, here with constants",
            "tests/papers/margin_membership/test_distributions.py",
            "test_the_condition_fails_no_more_often_than_bounded",
        ),
        (
            "Remarks B.5 and B.6",
            "m > 0.8104; no factor z",
            "tests/papers/margin_membership/test_orthogonal.py",
            "test_remarks_b5_and_b6",
        ),
        (
            "Lemma D.1",
            "holds",
            "tests/papers/margin_membership/test_distributions.py",
            "test_lemma_d1_holds_exactly_and_without_its_logarithm_fails",
        ),
        (
            "Lemma D.3",
            "holds",
            "tests/papers/margin_membership/test_distributions.py",
            "test_lemma_d3_overlaps_and_norms_of_gaussians",
        ),
        (
            "Lemma D.5",
            "with tau = k n^2, not k n",
            "tests/papers/margin_membership/test_distributions.py",
            "test_lemma_d5_sample_size",
        ),
        (
            "Lemma D.6",
            "with the probability of the complement of A",
            "tests/papers/margin_membership/test_distributions.py",
            "test_lemma_d6_mixtures_average_their_components",
        ),
    ),
}
STATEMENTS = {
    paper: tuple(Statement(name=name, verdict=verdict, test=f"{file}::{test}") for name, verdict, file, test in rows)
    for paper, rows in _PRINTED.items()
}
