//go:build ignore

// Command oracle answers, line by line, what Kubernetes itself makes of a quantity, of a pod, or of a namespace with
// quotas: it calls the quantity parser, the API defaults and the quota controller's evaluators of the module that the
// test control plane is built from. generate.py asks it, from tests/controlplane:
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
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	resourcedefaults "k8s.io/kubernetes/pkg/apis/resource/v1"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock/testing"
)

type question struct {
	Quantity  string                                 `json:"quantity"`
	Pod       *v1.Pod                                `json:"pod"`
	Now       int64                                  `json:"now"`
	Scopes    []v1.ScopedResourceSelectorRequirement `json:"scopes"`
	Namespace *namespace                             `json:"namespace"`
}

// namespace holds all that is counted in one namespace, the DeviceClasses of the cluster, and quotas to count for.
type namespace struct {
	Pods     []*v1.Pod                    `json:"pods"`
	Volumes  []*v1.PersistentVolumeClaim  `json:"persistentvolumeclaims"`
	Services []*v1.Service                `json:"services"`
	Secrets  []*v1.Secret                 `json:"secrets"`
	Claims   []*resourceapi.ResourceClaim `json:"resourceclaims.resource.k8s.io"`
	Classes  []*resourceapi.DeviceClass   `json:"deviceclasses"`
	Quotas   []v1.ResourceQuotaSpec       `json:"quotas"`
}

type answer struct {
	Error     string            `json:"error,omitempty"`
	Value     string            `json:"value,omitempty"`
	Format    string            `json:"format,omitempty"`
	Canonical string            `json:"canonical,omitempty"`
	Usage     map[string]string `json:"usage,omitempty"`
	Matches   []bool            `json:"matches,omitempty"`

	Used []map[string]string `json:"used,omitempty"`
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
		if q.Namespace != nil {
			reply = answer{Used: q.Namespace.used(q.Now)}
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

// used counts every quota as the controller does in a full recount.
func (n *namespace) used(now int64) []map[string]string {
	registry := n.registry(testing.NewFakeClock(time.Unix(now, 0)))
	var all []map[string]string
	for _, spec := range n.Quotas {
		used, err := quota.CalculateUsage("ns", spec.Scopes, spec.Hard, registry, spec.ScopeSelector)
		if err != nil {
			log.Fatal(err)
		}
		texts := map[string]string{}
		for name, amount := range used {
			texts[string(name)] = amount.AsDec().String()
		}
		all = append(all, texts)
	}
	return all
}

func (n *namespace) registry(clock *testing.FakeClock) quota.Registry {
	for _, pod := range n.Pods {
		defaults.SetObjectDefaults_Pod(pod)
	}
	for _, service := range n.Services {
		defaults.SetObjectDefaults_Service(service)
	}
	for _, claim := range n.Claims {
		resourcedefaults.SetObjectDefaults_ResourceClaim(claim)
	}
	stores := map[string]cache.Indexer{
		"pods":                   indexed(n.Pods),
		"persistentvolumeclaims": indexed(n.Volumes),
		"services":               indexed(n.Services),
		"secrets":                indexed(n.Secrets),
		"resourceclaims":         indexed(n.Claims),
	}
	list := func(gvr schema.GroupVersionResource) (cache.GenericLister, error) {
		return cache.NewGenericLister(stores[gvr.Resource], gvr.GroupResource()), nil
	}
	classes := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	for _, class := range n.Classes {
		classes.OnAdd(class, true)
	}
	secrets := v1.SchemeGroupVersion.WithResource("secrets")
	return generic.NewRegistry([]quota.Evaluator{
		core.NewPodEvaluator(list, clock),
		core.NewPersistentVolumeClaimEvaluator(list),
		core.NewServiceEvaluator(list),
		core.NewResourceClaimEvaluator(list, classes, listers.NewPodLister(stores["pods"]), n.claimsOf),
		generic.NewObjectCountEvaluator(
			secrets.GroupResource(), generic.ListResourceUsingListerFunc(list, secrets), v1.ResourceSecrets),
	})
}

// claimsOf finds the claims that the scheduler made for a pod, as the controller's index does.
func (n *namespace) claimsOf(_ string, pod types.UID) ([]*resourceapi.ResourceClaim, error) {
	var found []*resourceapi.ResourceClaim
	for _, claim := range n.Claims {
		owner := metav1.GetControllerOfNoCopy(claim)
		made := claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true"
		if made && owner != nil && owner.Kind == "Pod" && owner.APIVersion == "v1" && owner.UID == pod {
			found = append(found, claim)
		}
	}
	return found, nil
}

func indexed[T any](objects []T) cache.Indexer {
	store := cache.NewIndexer(
		cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, each := range objects {
		if err := store.Add(each); err != nil {
			log.Fatal(err)
		}
	}
	return store
}
