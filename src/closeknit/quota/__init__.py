"""Quota: the arithmetic of cohort trees, borrowing, lending and fair shares."""
