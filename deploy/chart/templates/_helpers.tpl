{{- define "closeknit.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "closeknit.checkNamespace" -}}
{{- if ne .Release.Namespace "closeknit-system" -}}
{{- fail "the policies of this chart are made for the namespace closeknit-system; install it there, or set policies.enabled=false and apply what `closeknit install --namespace NAME -o yaml` prints of them" -}}
{{- end -}}
{{- end -}}
