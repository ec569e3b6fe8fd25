// NodeResourceTopologyMatch as a program: filters and scores pods on nodes that are described as JSON.
//
// Every line of standard input is a pod with the nodes and NodeResourceTopologies that it may run on, and the plug-in's
// arguments; every line of output has, for each of these nodes, what the plug-in's own Filter and Score say, or that
// they panic. With -bench the single input is decided several times over, and the output is CPU time.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type problem struct {
	Args       json.RawMessage   `json:"args"`
	Pod        *v1.Pod           `json:"pod"`
	Nodes      []*v1.Node        `json:"nodes"`
	Topologies []json.RawMessage `json:"nodeResourceTopologies"`
	Rounds     int               `json:"rounds"` // scores may differ from round to round
}

func main() {
	bench := flag.Bool("bench", false, "measure a single input")
	flag.Parse()
	quiet()
	answers := json.NewEncoder(os.Stdout)
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	plugins := plugins{server: &server{}, known: map[string]plugin{}}
	for decoder.More() {
		var one problem
		if err := decoder.Decode(&one); err != nil {
			panic(err)
		}
		if err := plugins.server.serve(one.Topologies); err != nil {
			panic(err)
		}
		topologyMatch, err := plugins.get(one.Args)
		if err != nil {
			answers.Encode(map[string]string{"error": err.Error()})
		} else if *bench {
			answers.Encode(measured(topologyMatch, one))
		} else {
			answers.Encode(decided(topologyMatch, one))
		}
	}
}

// quiet keeps the level of logging at which a scheduler runs, and throws the log away.
func quiet() {
	options := flag.NewFlagSet("log", flag.PanicOnError)
	klog.InitFlags(options)
	options.Set("logtostderr", "false")
	options.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}

func infos(nodes []*v1.Node) []*framework.NodeInfo {
	found := []*framework.NodeInfo{}
	for _, node := range nodes {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		found = append(found, info)
	}
	return found
}

func decided(topologyMatch plugin, one problem) []answer {
	found := []answer{}
	for _, info := range infos(one.Nodes) {
		found = append(found, topologyMatch.decide(context.Background(), one.Pod, info, max(one.Rounds, 1)))
	}
	return found
}
