//go:build ignore

// Command oracle answers, line by line, what Kubernetes itself makes of a quantity or of a pod: it calls the quantity
// parser, the API defaults and the quota controller's pod evaluator of the module that the test control plane is built
// from. generate.py asks it, from tests/controlplane:
//
//	go run ../data/native/oracle.go < questions
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock/testing"
)

type question struct {
	Quantity string                                 `json:"quantity"`
	Pod      *v1.Pod                                `json:"pod"`
	Now      int64                                  `json:"now"`
	Scopes   []v1.ScopedResourceSelectorRequirement `json:"scopes"`
}

type answer struct {
	Error     string            `json:"error,omitempty"`
	Value     string            `json:"value,omitempty"`
	Format    string            `json:"format,omitempty"`
	Canonical string            `json:"canonical,omitempty"`
	Usage     map[string]string `json:"usage,omitempty"`
	Matches   []bool            `json:"matches,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			log.Fatal(err)
		}
		reply := quantity(q.Quantity)
		if q.Pod != nil {
			reply = usage(q)
		}
		if err := out.Encode(reply); err != nil {
			log.Fatal(err)
		}
	}
}

func quantity(text string) answer {
	parsed, err := resource.ParseQuantity(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	exact := parsed.DeepCopy()
	number, suffix := parsed.CanonicalizeBytes(nil)
	return answer{
		Value:     exact.AsDec().String(),
		Format:    string(parsed.Format),
		Canonical: string(number) + string(suffix),
	}
}

func usage(q question) answer {
	defaults.SetObjectDefaults_Pod(q.Pod)
	clock := testing.NewFakeClock(time.Unix(q.Now, 0))
	used, err := core.PodUsageFunc(q.Pod, clock)
	if err != nil {
		log.Fatal(err)
	}
	reply := answer{Usage: map[string]string{}}
	for name, amount := range used {
		reply.Usage[string(name)] = amount.AsDec().String()
	}
	for _, scope := range q.Scopes {
		matched, err := core.NewPodEvaluator(nil, clock).MatchingScopes(q.Pod, []v1.ScopedResourceSelectorRequirement{scope})
		if err != nil {
			log.Fatal(err)
		}
		reply.Matches = append(reply.Matches, len(matched) == 1)
	}
	return reply
}
