"""What becomes of workloads and pods after a decision: functions from what is seen to what is to be done."""
