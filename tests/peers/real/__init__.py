"""Proofs that need a cluster with the real Kueue: CLOSEKNIT_REAL=1 python -m pytest tests/peers/real"""
