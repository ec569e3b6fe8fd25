package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

// What the plug-in says about one node. There is one score, unless it differs from round to round.
type answer struct {
	Code        string  `json:"code,omitempty"`
	Reason      string  `json:"reason,omitempty"`
	FilterPanic string  `json:"filterPanic,omitempty"`
	Scores      []int64 `json:"scores,omitempty"`
	ScorePanic  string  `json:"scorePanic,omitempty"`
}

type plugin struct {
	framework.FilterPlugin
	framework.ScorePlugin
}

func (one plugin) Name() string { return noderesourcetopology.Name }

func (one plugin) decide(ctx context.Context, pod *v1.Pod, node fwk.NodeInfo, rounds int) answer {
	found := answer{}
	found.FilterPanic = panicOf(func() {
		status := one.Filter(ctx, nil, pod, node)
		found.Code = status.Code().String()
		if status != nil {
			found.Reason = strings.Join(status.Reasons(), ", ")
		}
	})
	found.ScorePanic = panicOf(func() {
		for range rounds {
			score, status := one.Score(ctx, nil, pod, node)
			if !status.IsSuccess() {
				panic(status.AsError())
			}
			if !slices.Contains(found.Scores, score) {
				found.Scores = append(found.Scores, score)
			}
		}
	})
	return found
}

// panicOf runs something and returns what it panics with, and where in the plug-in; empty if it does not.
func panicOf(run func()) (text string) {
	defer func() {
		if cause := recover(); cause != nil {
			text = fmt.Sprintf("%v in %s", cause, place())
		}
	}()
	run()
	return ""
}

func place() string {
	calls := make([]uintptr, 64)
	frames := runtime.CallersFrames(calls[:runtime.Callers(0, calls)])
	for {
		frame, more := frames.Next()
		if _, name, ours := strings.Cut(frame.Function, "/noderesourcetopology."); ours {
			return name
		}
		if !more {
			return "another package"
		}
	}
}

// plugins has a plug-in for each set of arguments; all of them read NodeResourceTopologies from one server.
type plugins struct {
	server *server
	known  map[string]plugin
}

func (all plugins) get(args json.RawMessage) (plugin, error) {
	if found, ok := all.known[string(args)]; ok {
		return found, nil
	}
	typed, _, err := scheme.Codecs.UniversalDecoder().Decode(args, nil, nil)
	if err != nil {
		return plugin{}, err
	}
	made, err := noderesourcetopology.New(context.Background(), typed, handle{server: all.server})
	if err != nil {
		return plugin{}, err
	}
	found := plugin{made.(framework.FilterPlugin), made.(framework.ScorePlugin)}
	all.known[string(args)] = found
	return found, nil
}

// handle is as much of the scheduler as the plug-in asks for.
type handle struct {
	framework.Handle
	server *server
}

func (one handle) KubeConfig() *rest.Config {
	return &rest.Config{Host: "http://server", Transport: one.server, QPS: -1}
}

func (one handle) SharedInformerFactory() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(nil, 0)
}
