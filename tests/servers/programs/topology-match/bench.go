package main

import (
	"context"
	"syscall"
	"time"
)

// CPU time of each round, in milliseconds, and how many nodes pass the filter.
type measurement struct {
	Filter []float64 `json:"filter"`
	Score  []float64 `json:"score"`
	Fits   int       `json:"fits"`
}

// measured filters all nodes and then scores all of them, in each round. What it takes includes collecting garbage.
func measured(topologyMatch plugin, one problem) measurement {
	ctx, nodes := context.Background(), infos(one.Nodes)
	found := measurement{}
	for range max(one.Rounds, 1) {
		found.Fits = 0
		begin := cpu()
		for _, node := range nodes {
			if topologyMatch.Filter(ctx, nil, one.Pod, node).IsSuccess() {
				found.Fits++
			}
		}
		filtered := cpu()
		for _, node := range nodes {
			topologyMatch.Score(ctx, nil, one.Pod, node)
		}
		found.Filter = append(found.Filter, milliseconds(filtered-begin))
		found.Score = append(found.Score, milliseconds(cpu()-filtered))
	}
	return found
}

// cpu is the CPU time of this process so far.
func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func milliseconds(time time.Duration) float64 { return float64(time.Microseconds()) / 1000 }
