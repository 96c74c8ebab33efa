package jobs

import (
	"context"
	"maps"
)

// tenantKey is the context key of the tenant of a caller.
type tenantKey struct{}

// WithTenant returns a context for the calls of a tenant. With it, jobs, rejudgings and problems of other tenants do
// not exist, except for problems without a tenant, and new objects belong to the tenant. "" means no restriction.
func WithTenant(ctx context.Context, name string) context.Context {
	if name == TenantOf(ctx) {
		return ctx
	}
	return context.WithValue(ctx, tenantKey{}, name)
}

// TenantOf returns the tenant of a context, or "".
func TenantOf(ctx context.Context) string {
	name, _ := ctx.Value(tenantKey{}).(string)
	return name
}

// hidden reports whether the objects of an owner are hidden from a caller.
func hidden(ctx context.Context, owner string) bool {
	name := TenantOf(ctx)
	return name != "" && name != owner
}

// storedLabels returns the labels of a job as stored. They include its tenant, so that lists find the jobs of a tenant
// by the index of labels, and SQLite reads the tenant without the large columns that precede the column tenant.
func storedLabels(labels map[string]string, tenant string) map[string]string {
	if tenant == "" {
		return labels
	}
	all := map[string]string{TenantLabel: tenant}
	maps.Copy(all, labels)
	return all
}

// listedLabels returns the labels by which lists find a job.
func listedLabels(n Submission) map[string]string {
	all := map[string]string{}
	maps.Copy(all, storedLabels(n.Job.Labels, n.Tenant))
	for label, value := range map[string]string{problemLabel: n.Job.Problem, languageLabel: n.Job.Language} {
		if value != "" {
			all[label] = value
		}
	}
	return all
}
