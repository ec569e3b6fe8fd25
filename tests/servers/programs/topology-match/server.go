package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	group   = "topology.node.k8s.io"
	served  = group + "/v1alpha2"
	version = "/apis/" + served
	kind    = version + "/noderesourcetopologies"
)

// server is an API server in the same process that serves NodeResourceTopologies, and nothing else.
type server struct {
	all    []json.RawMessage
	byName map[string]json.RawMessage
}

func (one *server) serve(topologies []json.RawMessage) error {
	one.all, one.byName = topologies, map[string]json.RawMessage{}
	for _, raw := range topologies {
		var object v1.PartialObjectMetadata
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
		one.byName[object.Name] = raw
	}
	return nil
}

func (one *server) RoundTrip(request *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, one.answer(request.URL.Path)
	if body == nil {
		status, body = http.StatusNotFound, v1.Status{
			TypeMeta: v1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   v1.StatusFailure, Reason: v1.StatusReasonNotFound, Code: http.StatusNotFound,
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewReader(text)),
		Request:    request,
	}, nil
}

func (one *server) answer(path string) any {
	switch path {
	case "/api":
		return v1.APIVersions{TypeMeta: v1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}}
	case "/apis":
		only := v1.GroupVersionForDiscovery{GroupVersion: served, Version: "v1alpha2"}
		return v1.APIGroupList{
			TypeMeta: v1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   []v1.APIGroup{{Name: group, Versions: []v1.GroupVersionForDiscovery{only}, PreferredVersion: only}},
		}
	case version:
		resource := v1.APIResource{
			Name: "noderesourcetopologies", Kind: "NodeResourceTopology", Verbs: v1.Verbs{"get", "list", "watch"},
		}
		return v1.APIResourceList{
			TypeMeta:     v1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: served,
			APIResources: []v1.APIResource{resource},
		}
	case kind:
		return map[string]any{"apiVersion": served, "kind": "NodeResourceTopologyList", "items": one.all}
	}
	if found, ok := one.byName[strings.TrimPrefix(path, kind+"/")]; ok {
		return found
	}
	return nil
}
