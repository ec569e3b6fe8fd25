# What the annotations of a pod say will become of it: {start, outcome, end}.
#   closeknit.dev/start-time: 3s    from bound to running, 1s by default
#   closeknit.dev/run-time:   2m    60s by default; pods of services, and `forever`, stay
#   closeknit.dev/exit-code:  "3"
#   closeknit.dev/fail-after: 30s   it fails then, if it is not done before
# The end is a time, not a delay, so that a change of the pod meanwhile does not restart its run. Times in a status
# have whole seconds: a pod runs as long as it says, and up to a second longer. A spread (2m±10%) is left out.
def seconds:
  if . == "forever" then infinite
  else [scan("([0-9.]+)(ms|[smhd])") | (.[0] | tonumber) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[.[1]]]
    | add // 0 end;
def serves:
  .spec.restartPolicy == "Always"
  or any(.metadata.ownerReferences[]?; .controller and
    (.kind | IN("ReplicaSet", "StatefulSet", "DaemonSet", "LeaderWorkerSet", "RayCluster", "MPIJob")));
(.metadata.annotations // {}) as $notes
| ($notes["closeknit.dev/run-time"] // (if serves then "forever" else "60s" end) | seconds) as $run
| ($notes["closeknit.dev/fail-after"] // "forever" | seconds) as $fail
| ([$run, $fail] | min) as $length
| {
    start: ($notes["closeknit.dev/start-time"] // "1s"),
    outcome: (
      if $length == infinite then "stays"
      elif $fail <= $run or ($notes["closeknit.dev/exit-code"] // "0") != "0" then "fails"
      else "succeeds" end),
    end: (
      if $length == infinite then null
      else (.status.containerStatuses[0]?.state.running.startedAt // "1970-01-01T00:00:00Z" | fromdate)
        + ($length | ceil) + 1 | todate end)
  }
