{{- define "linkscore.name" -}}
{{- printf "%s-linkscore" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "linkscore.selector" -}}
app.kubernetes.io/name: linkscore
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "linkscore.labels" -}}
{{ include "linkscore.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "linkscore.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "linkscore.locked" -}}
runAsUser: 10001
runAsGroup: 10001
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* A gRPC probe speaks no TLS: with TLS the server is asked by its own command. */ -}}
{{- define "linkscore.healthProbe" -}}
{{- if .Values.tlsSecret -}}
exec: {command: [linkscore, health]}
{{- else -}}
grpc: {port: 7411}
{{- end -}}
{{- end }}

{{- define "linkscore.secrets" -}}
{{- if .Values.tokensSecret }}
- {name: tokens, secret: {secretName: {{ .Values.tokensSecret }}}}
{{- end }}
{{- if .Values.tlsSecret }}
- {name: tls, secret: {secretName: {{ .Values.tlsSecret }}}}
{{- end }}
{{- end }}

{{- define "linkscore.claim" -}}
- metadata:
    name: linkscore-data
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .Values.persistence.storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests:
        storage: {{ .Values.persistence.size }}
{{- end }}

{{- define "linkscore.container" -}}
name: linkscore
image: {{ include "linkscore.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
ports:
  - {name: grpc, containerPort: 7411}
  - {name: metrics, containerPort: 9411}
  {{- if eq .Values.mode "cluster" }}
  - {name: peers, containerPort: 7412}
  {{- end }}
env:
  {{- if eq .Values.mode "cluster" }}
  - name: LINKSCORE_DATA_DIR
    valueFrom: {secretKeyRef: {name: {{ required "databaseSecret" .Values.databaseSecret }}, key: dsn}}
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - {name: LINKSCORE_PEERS_LISTEN, value: "0.0.0.0:7412"}
  - {name: LINKSCORE_ADVERTISE, value: "$(POD_NAME).{{ include "linkscore.name" . }}-peers:7412"}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
  {{- if .Values.tokensSecret }}
  - {name: LINKSCORE_TOKEN_FILE, value: /etc/linkscore/tokens/tokens}
  {{- end }}
  {{- if .Values.tlsSecret }}
  - {name: LINKSCORE_TLS_CERT, value: /etc/linkscore/tls/tls.crt}
  - {name: LINKSCORE_TLS_KEY, value: /etc/linkscore/tls/tls.key}
  {{- end }}
startupProbe:
  {{- include "linkscore.healthProbe" . | nindent 2 }}
  periodSeconds: 2
  # Loading the logs may take this long: 150 x 2 s.
  failureThreshold: 150
readinessProbe:
  {{- include "linkscore.healthProbe" . | nindent 2 }}
  periodSeconds: 5
livenessProbe:
  # The port, not the health: a server that drains or loads is alive.
  tcpSocket: {port: grpc}
  periodSeconds: 10
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- include "linkscore.locked" . | nindent 2 }}
{{- if or (ne .Values.mode "cluster") .Values.tokensSecret .Values.tlsSecret }}
volumeMounts:
  {{- if ne .Values.mode "cluster" }}
  - {name: linkscore-data, mountPath: /var/lib/linkscore}
  {{- end }}
  {{- if .Values.tokensSecret }}
  - {name: tokens, mountPath: /etc/linkscore/tokens, readOnly: true}
  {{- end }}
  {{- if .Values.tlsSecret }}
  - {name: tls, mountPath: /etc/linkscore/tls, readOnly: true}
  {{- end }}
{{- end }}
{{- end }}
