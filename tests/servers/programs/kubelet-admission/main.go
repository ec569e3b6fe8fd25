// The kubelet's topology, CPU and memory manager as a program: admits pods on machines that are described as JSON.
//
// Every line of standard input is a machine with a sequence of pods that come and go; every line of output lists for
// each of them whether the kubelet's own code admits it, and why not. No container is ever started.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

type zone struct {
	Memory    uint64            `json:"memory"`
	HugePages map[uint64]uint64 `json:"hugePages"` // number of pages by size in KiB
	Cores     []core            `json:"cores"`
	Distances []uint64          `json:"distances"`
}

type core struct {
	ID      int   `json:"id"`
	Socket  int   `json:"socket"`
	Threads []int `json:"threads"`
}

type sequence struct {
	Zones          []zone            `json:"zones"`
	Policy         string            `json:"policy"`
	Scope          string            `json:"scope"`
	Options        map[string]string `json:"options"`
	CPUOptions     map[string]string `json:"cpuOptions"`
	ReservedCPUs   []int             `json:"reservedCPUs"`
	ReservedMemory int64             `json:"reservedMemory"` // of each zone
	Steps          []step            `json:"steps"`
}

type step struct {
	Admit  *v1.Pod `json:"admit"`
	Remove string  `json:"remove"`
}

type outcome struct {
	Admitted bool   `json:"admitted"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
}

type noStatus struct{}

func (noStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

func main() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true"); err != nil {
		panic(err)
	}
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(false)
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var one sequence
		if err := decoder.Decode(&one); err != nil {
			panic(err)
		}
		outcomes, err := play(one)
		if err != nil {
			answers.Encode(map[string]string{"error": err.Error()})
			continue
		}
		answers.Encode(outcomes)
	}
}

func play(one sequence) ([]outcome, error) {
	folder, err := os.MkdirTemp("", "kubelet-admission-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	active := []*v1.Pod{}
	manager, err := start(ctx, one, folder, func() []*v1.Pod { return active })
	if err != nil {
		return nil, err
	}
	outcomes := []outcome{}
	for _, next := range one.Steps {
		if next.Admit == nil {
			active = without(active, next.Remove)
			continue
		}
		before := active
		active = append(append([]*v1.Pod{}, before...), next.Admit)
		result := manager.Admit(&lifecycle.PodAdmitAttributes{Pod: next.Admit, OtherPods: before})
		if !result.Admit {
			active = before
		}
		outcomes = append(outcomes, outcome{result.Admit, result.Reason, result.Message})
	}
	return outcomes, nil
}

func start(ctx context.Context, one sequence, folder string, active func() []*v1.Pod) (topologymanager.Manager, error) {
	logger := klog.FromContext(ctx)
	machine := machineOf(one)
	topology, err := topologymanager.NewManager(machine.Topology, one.Policy, one.Scope, one.Options)
	if err != nil {
		return nil, err
	}
	reserved := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(len(one.ReservedCPUs)), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(one.ReservedMemory*int64(len(one.Zones)), resource.BinarySI),
	}
	cpus, err := cpumanager.NewManager(logger, "static", one.CPUOptions, 24*time.Hour, machine,
		cpuset.New(one.ReservedCPUs...), reserved, folder, topology)
	if err != nil {
		return nil, fmt.Errorf("cpu manager: %w", err)
	}
	memory, err := memorymanager.NewManager(logger, "Static", machine, reserved, perZone(one), folder, topology)
	if err != nil {
		return nil, fmt.Errorf("memory manager: %w", err)
	}
	ready := config.NewSourcesReady(func(sets.Set[string]) bool { return true })
	if err := cpus.Start(ctx, active, ready, noStatus{}, nil, containermap.NewContainerMap()); err != nil {
		return nil, err
	}
	if err := memory.Start(ctx, active, ready, noStatus{}, nil, containermap.NewContainerMap()); err != nil {
		return nil, err
	}
	topology.AddHintProvider(logger, cpus)
	topology.AddHintProvider(logger, memory)
	return topology, nil
}

func machineOf(one sequence) *cadvisorapi.MachineInfo {
	machine := &cadvisorapi.MachineInfo{}
	sockets := map[int]bool{}
	for id, each := range one.Zones {
		node := cadvisorapi.Node{Id: id, Memory: each.Memory, Distances: each.Distances}
		for size, count := range each.HugePages {
			node.HugePages = append(node.HugePages, cadvisorapi.HugePagesInfo{PageSize: size, NumPages: count})
		}
		for _, core := range each.Cores {
			node.Cores = append(node.Cores, cadvisorapi.Core{Id: core.ID, SocketID: core.Socket, Threads: core.Threads})
			sockets[core.Socket] = true
			machine.NumCores += len(core.Threads)
			machine.NumPhysicalCores++
		}
		machine.MemoryCapacity += each.Memory
		machine.Topology = append(machine.Topology, node)
	}
	machine.NumSockets = len(sockets)
	return machine
}

func perZone(one sequence) []kubeletconfig.MemoryReservation {
	found := []kubeletconfig.MemoryReservation{}
	for id := range one.Zones {
		size := *resource.NewQuantity(one.ReservedMemory, resource.BinarySI)
		found = append(found, kubeletconfig.MemoryReservation{
			NumaNode: int32(id), Limits: v1.ResourceList{v1.ResourceMemory: size},
		})
	}
	return found
}

func without(pods []*v1.Pod, uid string) []*v1.Pod {
	left := []*v1.Pod{}
	for _, pod := range pods {
		if string(pod.UID) != uid {
			left = append(left, pod)
		}
	}
	return left
}
