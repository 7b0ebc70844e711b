# A control plane to play with; see docs/control-plane.md.
#   eval "$(make -s cluster-up)" && kubectl get nodes
CLUSTER := $(PYTHON) -m tests.controlplane
NODES ?= 3

.PHONY: cluster-up cluster-down cluster-status

cluster-up: $(VENV_READY) ## start a control plane that stays up (NODES=3, KARPENTER=1) and print its KUBECONFIG line
	@$(CLUSTER) up --nodes $(NODES) $(if $(KARPENTER),--karpenter)

cluster-down: $(VENV_READY) ## end it
	@$(CLUSTER) down

cluster-status: $(VENV_READY) ## say which of its components run
	@$(CLUSTER) status
